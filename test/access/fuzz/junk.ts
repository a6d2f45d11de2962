// Random malformed targets, methods, headers and bytes, from a seed.
import type { Random } from '../../crash/random.ts'

/** None of them is public; each gets a hundred other spellings. */
const PROTECTED = [
  '/api/workflows',
  '/api/workflows/greeting',
  '/api/jobs',
  '/api/threads',
  '/api/tokens',
  '/metrics',
  '/v1/models',
  '/trpc/workflows.list',
  '/mcp',
  '/admin/collections',
  '/ws',
  '/ws/agent',
  '/nothing-here',
]
const DISGUISES = [
  '/health/..',
  '/api/health/../..',
  '/docs/..',
  '/docs/%2e%2e',
  '/ready/%2e%2e',
  '/%2e',
  '/.',
  '/',
  '/openapi.json/..',
]
/** Prefixes of absolute targets, as for proxies. */
const STARTS = [
  'http://localhost',
  'http://127.0.0.1:1',
  'https://x@y',
  '//',
  'http://[::1',
  'http://[x]',
  'http://a:99999',
  'http://a:b',
  'x:',
]
const METHODS = [
  'GET',
  'GET',
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'OPTIONS',
  'PATCH',
  'TRACE',
  'PROPFIND',
  'get',
  'G ET',
  '',
]
const NOISE = [
  ['X-User-Id', '1'],
  ['X-Forwarded-User', 'root'],
  ['X-Remote-User', '1'],
  ['X-Original-URL', '/health'],
  ['X-Rewrite-URL', '/health'],
  ['X-HTTP-Method-Override', 'OPTIONS'],
  ['X-Forwarded-Host', 'localhost'],
  ['X-Forwarded-Proto', 'https'],
  ['X-Forwarded-For', '127.0.0.1'],
  ['Forwarded', 'for=127.0.0.1;host=localhost'],
  ['X-Real-IP', '127.0.0.1'],
  ['X-Svc-Local-Client', ''],
  ['X-Svc-Local-Client', 'undefined'],
  ['Cookie', 'session=1; api_key=1'],
  ['Content-Type', 'application/json'],
  ['Transfer-Encoding', 'identity'],
  ['Content-Length', '0'],
  ['Expect', '100-continue'],
  ['Range', 'bytes=0-'],
  ['X-Request-Id', 'ä\u0001'],
  ['Accept', '*/*;q=x'],
  ['TE', 'trailers'],
  ['Origin', 'http://localhost:5173'],
  ['Access-Control-Request-Method', 'GET'],
] as const

/** Headers in order, with repeated names. */
export type Headers = [name: string, value: string][]

export function target(random: Random): string {
  let path = random.pick(PROTECTED)
  for (let times = random.int(0, 3); times > 0; times--) path = disguised(random, path)
  const query = random.chance(0.2)
    ? `?${random.pick(['x', 'api_key=', 'api_key=1', 'api_key=%00', 'api_key[]=1', '%'])}`
    : ''
  const start = random.chance(0.1) ? random.pick(STARTS) : ''
  return random.chance(0.02)
    ? random.pick(['*', '', 'localhost:80', '\\api', '?', '#', 'health'])
    : start + path + query
}

function disguised(random: Random, path: string): string {
  const at = random.int(0, path.length)
  const [before, after] = [path.slice(0, at), path.slice(at)]
  const ways: (() => string)[] = [
    () => before + percent(after.slice(0, 1)) + after.slice(1),
    () => before + percent(percent(after.slice(0, 1))) + after.slice(1),
    () => path.replaceAll('/', random.pick(['//', '/./', '/%2e/', '%2f', '\\', '/x/../'])),
    () => random.pick(DISGUISES) + path,
    () => before + after.toUpperCase(),
    () =>
      path +
      random.pick([
        '/',
        '//',
        '/.',
        '/..',
        ';',
        ';/health',
        '%00',
        '%0a',
        '%20',
        '.json',
        '#/health',
        '%',
        '%zz',
        '%c0%af',
      ]),
    () => before + text(random, 3) + after,
    () => before + 'a'.repeat(random.pick([200, 5_000, 20_000])) + after,
  ]
  return random.pick(ways)()
}

function percent(character: string): string {
  return character === '' ? '' : `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`
}

/** Visible characters, or any bytes but line ends. */
export function text(random: Random, most: number): string {
  const [from, to] = random.chance(0.7) ? [0x21, 0x7e] : [0, 255]
  const characters = Array.from({ length: random.int(0, most) }, () => String.fromCharCode(random.int(from, to)))
  return characters.join('').replace(/[\r\n]/g, ' ')
}

export function method(random: Random): string {
  return random.pick(METHODS)
}

export function noise(random: Random): Headers {
  const chosen = Array.from({ length: random.int(0, 4) }, (): [string, string] => [...random.pick(NOISE)])
  if (random.chance(0.1)) chosen.push([random.pick(['X-Junk', 'Cookie', 'Accept', 'Origin', 'Host']), text(random, 40)])
  return chosen
}

export function handshake(random: Random): Headers {
  const key = random.pick(['dGhlIHNhbXBsZSBub25jZQ==', 'x', '', text(random, 30)])
  return [
    ['Connection', random.pick(['Upgrade', 'upgrade', 'keep-alive, Upgrade', 'close'])],
    ['Upgrade', random.pick(['websocket', 'websocket', 'WebSocket', 'h2c', 'websocket, h2c', ''])],
    ['Sec-WebSocket-Key', key],
    ['Sec-WebSocket-Version', random.pick(['13', '13', '8', '99', '', 'x'])],
  ]
}

/** `bytes` with some of them changed, removed, doubled or cut off. */
export function damaged(random: Random, bytes: Buffer): Buffer {
  let made = Buffer.from(bytes)
  for (let times = random.int(1, 2); times > 0; times--) {
    const at = random.int(0, made.length)
    const [before, after] = [made.subarray(0, at), made.subarray(at)]
    const some = Buffer.from(text(random, 20), 'latin1')
    made = Buffer.concat(
      random.pick([
        [before, some, after],
        [before, after.subarray(random.int(0, 8))],
        [before, Buffer.from('\r\n'), after],
        [before, Buffer.from('\0'), after],
        [before, before.subarray(-20), after],
        [before],
      ]),
    )
  }
  return made
}
