import { describe, expect, test } from 'vitest';
import type { PixKeyType } from '../provider/provider.ts';
import { isSamePixKey } from './same-pix-key.ts';

const uuid = '123e4567-e89b-12d3-a456-426614174000';

describe('two forms of a key', () => {
  test.each<[PixKeyType, string, string]>([
    ['EMAIL', 'joao@example.com', ' Joao@Example.com '],
    ['PHONE', '+5511999998888', '11999998888'],
    ['PHONE', '+5511999998888', '(11) 99999-8888'],
    ['PHONE', '+5511999998888', '5511999998888'],
    ['PHONE', '+12025550123', '+12025550123'],
    ['CPF', '52998224725', '529.982.247-25'],
    ['CNPJ', '11222333000181', '11.222.333/0001-81'],
    ['CNPJ', '12ABC34501DE35', '12abc34501de35'],
    ['RANDOM', uuid, uuid.replaceAll('-', '').toUpperCase()],
  ])('%s %j and %j are the same key', (type, one, other) => {
    expect([isSamePixKey(type, one, other), isSamePixKey(type, other, one)]).toEqual([true, true]);
  });

  test.each<[PixKeyType, string, string]>([
    ['EMAIL', 'joao@example.com', 'jo.ao@example.com'],
    ['EMAIL', 'joao@example.com', 'joao+1@example.com'],
    ['PHONE', '+5511999998888', '+1199999888'],
    ['PHONE', '+554532345678', '+4532345678'],
    ['CPF', '52998224725', '5552998224725'],
    ['CNPJ', '55123456000195', '123456000195'],
    ['RANDOM', uuid, ''],
  ])('%s %j and %j are two keys', (type, one, other) => {
    expect([isSamePixKey(type, one, other), isSamePixKey(type, other, one)]).toEqual([false, false]);
  });
});
