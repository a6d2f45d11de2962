// The words of a case: settings, source of a request, credential, target. wire.ts and servers.ts define each word on the wire, expected.ts the
// outcome. This file imports nothing.

/** The settings of the server. Settings that a name does not mention are unset. */
export const MODES = [
  'local',
  'local, localhost not trusted',
  'local, own address trusted',
  'local, behind proxies',
  'local, names allowed',
  'local, with bridges',
  'identity provider',
  'identity provider, localhost trusted',
  'identity provider, networks and bridges',
  'identity provider, down',
] as const

/** The address at the other end of the connection. `proxy` is a loopback address of its own, in SVC_TRUSTED_PROXIES where the mode has proxies. */
export const PEERS = [
  'loopback',
  'loopback 127.0.0.2',
  'loopback IPv6',
  'own address',
  'own IPv6 address',
  'proxy',
] as const

/**
 * X-Forwarded-For from left to right; `Forwarded` is the header of RFC 7239. `network` is an address in 10.9.0.0/16. Names with `in HTTP/1.0` use
 * that version, as proxies do that send no forwarding headers.
 */
export const FORWARDED = [
  'nobody',
  'a stranger',
  'loopback',
  'loopback IPv6',
  'network',
  'network, a stranger',
  'a stranger, network',
  'network, proxy',
  'network, with a port',
  'network, IPv4-mapped',
  'network, IPv4-mapped with a port',
  'loopback, with a port',
  'loopback, IPv4-mapped',
  'a stranger, IPv4-mapped with a port',
  'an unreadable address',
  'Forwarded: for loopback',
  'X-Forwarded-Anything',
  'nobody, in HTTP/1.0',
  'network, in HTTP/1.0',
] as const

export const HOSTS = [
  'localhost',
  'LOCALHOST',
  'a name below localhost',
  'an IPv4 address',
  'an IPv6 address',
  'the allowed name',
  'another name',
  'a name that begins with localhost',
  'a name that begins with an address',
  'localhost, twice',
  'localhost and another name',
] as const

export const ORIGINS = [
  'none',
  'its own',
  'a dev server on localhost',
  'a file',
  'a browser extension',
  'the allowed origin',
  'another site',
  'a site that begins with localhost',
  'null',
  'null, with the secret of the launch',
  'null, with another secret',
] as const

/** `alice` has access tokens, `bob` and `root` are people at the identity provider (`root` in SVC_ADMIN_USERS), `carol` is linked by a bridge. */
export const TOKENS = [
  'none',
  'Bearer without a token',
  'Bearer with two tokens',
  'Basic',
  'two headers',
  'garbage',
  'ntk_ good',
  'ntk_ expired',
  'ntk_ revoked',
  'ntk_ of another server',
  'nta_ good',
  'nta_ expired',
  'nta_ of another server',
  'nda_ good',
  'nda_ expired',
  'nda_ of another server',
  'delegated good',
  'delegated expired',
  'delegated by another server',
  'JWT good',
  'JWT good, with a workspace',
  'JWT good, of an administrator',
  'JWT expired',
  'JWT for another audience',
  'JWT signed by a stranger',
  'opaque good',
  'opaque bad',
] as const

/** The target of an HTTP request, as in the request line. */
export const PATHS = [
  '/api/workflows',
  '/api/workflows/',
  '/health',
  '/ready',
  '/api/health',
  '/api/config',
  '/api/nodes/metadata?fields=summary&namespace=text',
  '/api/workflows/examples',
  '/api/workflows/public',
  '/api/assets/packages',
  '/openapi.json',
  '/asyncapi.json',
  '/docs',
  '/metrics',
  '/api/nothing-here',
  '/nothing-here',
  '/v1/nothing-here',
  '/api/threads',
  '/v1/models',
  '/admin/collections',
  '/mcp',
  '/%61pi/workflows',
  '//api/workflows',
  '/api//workflows',
  '/API/workflows',
  '/api/./workflows',
  '/health/../api/workflows',
  '/api/workflows/public/../../workflows',
  '/api/workflows/examples/../../workflows',
  '/api/workflows/examples/%2e%2e/%2e%2e/workflows',
  '/api/workflows;/health',
  '/metrics/',
  '/METRICS',
  '/admin/../metrics',
] as const

/** The target of an upgrade. */
export const SOCKET_PATHS = ['/ws', '/ws/agent', '/ws/nothing-here', '/nothing-here', '/health/../ws', '/WS'] as const

/** How the token is sent. */
export const TRANSPORTS = [
  'HTTP',
  'HTTP, the token as api_key',
  'socket',
  'socket, the token as api_key',
  'socket, the token as api_key beside a Basic header',
] as const

export type Mode = (typeof MODES)[number]
export type Peer = (typeof PEERS)[number]
export type Forwarded = (typeof FORWARDED)[number]
export type Host = (typeof HOSTS)[number]
export type Origin = (typeof ORIGINS)[number]
export type Token = (typeof TOKENS)[number]
export type Transport = (typeof TRANSPORTS)[number]
export type Path = (typeof PATHS)[number] | (typeof SOCKET_PATHS)[number]

export interface Case {
  mode: Mode
  peer: Peer
  forwarded: Forwarded
  host: Host
  origin: Origin
  token: Token
  path: Path
  transport: Transport
}

/** The case as a line of text. */
export function inWords({ mode, peer, forwarded, host, origin, token, path, transport }: Case): string {
  const via = forwarded === 'nobody' ? peer : `${peer} forwarding for ${forwarded}`
  return `[${mode}] from ${via} · Host: ${host} · Origin: ${origin} · token: ${token} · ${transport} ${path}`
}
