import { startSimulator } from '@vintem/simulator';

/** The simulator in a process of its own, so that its CPU time is not counted: sends its address once it listens. */
const simulator = await startSimulator({
  host: '127.0.0.1',
  port: 0,
  stateDir: process.env.SIMULATOR_STATE ?? '',
});
process.send?.({ url: simulator.url });
