<?php
// A shop that takes Pix: PHP 8.1 with curl and pdo_sqlite, without the SDK.
//   VINTEM_URL=https://pix.example.com VINTEM_KEY=vtm_test_... WEBHOOK_SECRET=whsec_... php -S 127.0.0.1:4000 shop.php
declare(strict_types=1);

final class Refused extends Exception {}
final class OutcomeUnknown extends Exception {}

function database(): PDO
{
    static $db = null;
    if ($db === null) {
        $db = new PDO('sqlite:' . (getenv('SHOP_DB') ?: 'shop.db'));
        $db->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION);
        $db->exec('PRAGMA busy_timeout = 10000');
        $db->exec("CREATE TABLE IF NOT EXISTS orders (
            id TEXT PRIMARY KEY, amount_cents INTEGER NOT NULL, payer TEXT NOT NULL, request_key TEXT NOT NULL UNIQUE,
            status TEXT NOT NULL DEFAULT 'waiting', code TEXT, shipments INTEGER NOT NULL DEFAULT 0);
            CREATE TABLE IF NOT EXISTS handled (event_id TEXT PRIMARY KEY);");
    }
    return $db;
}

function run(string $sql, array $values): PDOStatement
{
    $statement = database()->prepare($sql);
    $statement->execute($values);
    return $statement;
}

function uuid(): string
{
    $bytes = random_bytes(16);
    $bytes[6] = chr((ord($bytes[6]) & 0x0f) | 0x40);
    $bytes[8] = chr((ord($bytes[8]) & 0x3f) | 0x80);
    return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($bytes), 4));
}

/** Sends a creation. Only the same body with the same requestKey is repeated, never a new key. */
function create(string $path, array $body, int $attempts = 5): array
{
    $openAttempt = false;
    for ($attempt = 0; $attempt < $attempts; $attempt++) {
        $curl = curl_init(rtrim(getenv('VINTEM_URL'), '/') . '/api/v1/public' . $path);
        curl_setopt_array($curl, [
            CURLOPT_POSTFIELDS => json_encode($body),
            CURLOPT_HTTPHEADER => ['Authorization: Bearer ' . getenv('VINTEM_KEY'), 'Content-Type: application/json'],
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_TIMEOUT => 20,
        ]);
        $text = curl_exec($curl);
        $status = $text === false ? 0 : curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
        $answer = $text === false ? null : json_decode($text, true);
        if ($status === 201 && is_array($answer)) {
            return $answer;
        }
        if ($status >= 300 && $status < 500 && $status !== 429) {
            // A lost attempt may still arrive behind this refusal.
            throw $openAttempt ? new OutcomeUnknown($body['requestKey']) : new Refused((string) $text);
        }
        $openAttempt = $openAttempt || $status !== 429;
        usleep(250_000 * 2 ** $attempt);
    }
    throw new OutcomeUnknown($body['requestKey']);
}

/** The event, or null. Standard Webhooks 1.0.0: HMAC-SHA-256 over id.timestamp.body. */
function verified(string $body): ?array
{
    $secret = base64_decode(preg_replace('/^whsec_/', '', (string) getenv('WEBHOOK_SECRET')), true);
    if ($secret === false || strlen($secret) < 24) {
        throw new RuntimeException('WEBHOOK_SECRET is missing: with an empty one every caller can sign');
    }
    $sent = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (!ctype_digit($sent) || abs(time() - (int) $sent) > 300) {
        return null;
    }
    $signed = ($_SERVER['HTTP_WEBHOOK_ID'] ?? '') . ".$sent.$body";
    $own = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $secret, true));
    foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $given) {
        if (hash_equals($own, $given)) {
            return json_decode($body, true);
        }
    }
    return null;
}

function findOrder(string $id): ?array
{
    $order = run('SELECT id, status, code, shipments FROM orders WHERE id = ?', [$id])->fetch(PDO::FETCH_ASSOC);
    return $order === false ? null : $order;
}

/** The order and its request key are stored first: a repeat of the order gets the same charge. */
function placeOrder(string $id, int $amountCents, string $payer): array
{
    run('INSERT OR IGNORE INTO orders (id, amount_cents, payer, request_key) VALUES (?, ?, ?, ?)', [$id, $amountCents, $payer, uuid()]);
    $order = run('SELECT * FROM orders WHERE id = ?', [$id])->fetch(PDO::FETCH_ASSOC);
    if ($order['code'] === null) {
        $charge = create('/pix/charges', [
            'amountCents' => (int) $order['amount_cents'], 'payerName' => $order['payer'],
            'description' => "Pedido $id", 'requestKey' => $order['request_key'],
        ]);
        run('UPDATE orders SET code = ? WHERE id = ?', [$charge['copyPaste'] ?? null, $id]);
    }
    return findOrder($id);
}

/** An event arrives at least once: its id and what it changes are written in one transaction. */
function handle(array $event): void
{
    database()->beginTransaction();
    $first = run('INSERT OR IGNORE INTO handled VALUES (?)', [$event['id']])->rowCount() === 1;
    if ($first && $event['type'] === 'charge.paid') {
        run("UPDATE orders SET status = 'paid', shipments = shipments + 1 WHERE request_key = ? AND status = 'waiting'", [$event['data']['requestKey']]);
    }
    database()->commit();
}

function answer(int $status, ?array $body = null): void
{
    http_response_code($status);
    header('Content-Type: application/json');
    echo $body === null ? '' : json_encode($body);
}

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$body = file_get_contents('php://input');
if ($_SERVER['REQUEST_METHOD'] === 'GET') {
    $order = findOrder(substr($path, strlen('/orders/')));
    answer($order ? 200 : 404, $order ?? ['message' => 'no such order']);
} elseif ($path === '/webhooks/vintem') {
    $event = verified($body);
    if ($event !== null) {
        handle($event);
    }
    answer($event === null ? 400 : 204, $event === null ? ['message' => 'invalid signature'] : null);
} else {
    $order = json_decode($body, true);
    try {
        answer(201, placeOrder($order['id'], $order['amountCents'], $order['payerName']));
    } catch (Refused $error) {
        answer(400, ['message' => $error->getMessage()]);
    } catch (OutcomeUnknown) {
        answer(503, ['message' => 'try again']);
    }
}
