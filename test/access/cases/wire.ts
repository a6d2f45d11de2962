// Sends cases as real requests and upgrades from real addresses, and describes their outcomes in the words of the expectation.
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, type RequestOptions, request as send } from 'node:http'
import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import WebSocket from 'ws'
import { Client } from '../../helpers/socket.ts'
import { connectionOf } from './heads.ts'
import type { Case, Forwarded, Host, Origin, Peer } from './words.ts'

export const ALLOWED_HOST = 'box.example'
export const ALLOWED_ORIGIN = 'https://app.example'
export const LAUNCH_SECRET = 'the-secret-of-this-launch'
export const PROXY = '127.0.0.3'
export const NETWORK = '10.9.0.0/16'

const outward = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
/** The machine's own non-loopback addresses. */
export const OWN_IPV4 = outward.find(({ family }) => family === 'IPv4')?.address ?? null
export const OWN_IPV6 = outward.find(({ family }) => family === 'IPv6')?.address ?? null
const LOOPBACK_IPV6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'))

/** The address of each peer; null if this machine has none. */
export const ADDRESSES: Readonly<Record<Peer, string | null>> = {
  loopback: '127.0.0.1',
  'loopback 127.0.0.2': '127.0.0.2',
  'loopback IPv6': LOOPBACK_IPV6 ? '::1' : null,
  'own address': OWN_IPV4,
  'own IPv6 address': OWN_IPV6,
  proxy: PROXY,
}

const HOSTS: Readonly<Record<Host, string>> = {
  localhost: 'localhost',
  LOCALHOST: 'LOCALHOST',
  'a name below localhost': 'app.localhost',
  'an IPv4 address': '192.168.7.7',
  'an IPv6 address': '[fd00::7]',
  'the allowed name': ALLOWED_HOST,
  'another name': 'evil.example',
  'a name that begins with localhost': 'localhost.evil.example',
  'a name that begins with an address': '127.0.0.1.evil.example',
  'localhost, twice': 'localhost',
  'localhost and another name': 'localhost',
}

const ORIGINS: Readonly<Record<Exclude<Origin, 'its own' | 'none'>, string>> = {
  'a dev server on localhost': 'http://localhost:5173',
  'a file': 'file://',
  'a browser extension': 'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
  'the allowed origin': ALLOWED_ORIGIN,
  'another site': 'https://evil.example',
  'a site that begins with localhost': 'http://localhost.evil.example',
  null: 'null',
  'null, with the secret of the launch': 'null',
  'null, with another secret': 'null',
}

const FORWARDING: Readonly<Record<Exclude<Forwarded, 'nobody' | 'nobody, in HTTP/1.0'>, string>> = {
  'a stranger': '203.0.113.9',
  loopback: '127.0.0.1',
  'loopback IPv6': '::1',
  network: '10.9.8.7',
  'network, a stranger': '10.9.8.7, 203.0.113.9',
  'a stranger, network': '203.0.113.9, 10.9.8.7',
  'network, proxy': `10.9.8.7, ${PROXY}`,
  'network, with a port': '10.9.8.7:4711',
  'network, IPv4-mapped': '::ffff:10.9.8.7',
  'network, IPv4-mapped with a port': '[::ffff:a09:807]:4711',
  'loopback, with a port': '127.0.0.1:4711',
  'loopback, IPv4-mapped': '::ffff:127.0.0.1',
  'a stranger, IPv4-mapped with a port': '[::ffff:203.0.113.9]:4711',
  'an unreadable address': 'unknown',
  'Forwarded: for loopback': 'for=127.0.0.1',
  'X-Forwarded-Anything': 'localhost',
  'network, in HTTP/1.0': '10.9.8.7',
}

/** The values of the Authorization header, repeated if several, and the token itself. */
export interface Credentials {
  readonly header: readonly string[]
  readonly token: string | null
}

type Headers = Record<string, string | string[]>

function headersOf({ host, origin, forwarded, transport }: Case, { header }: Credentials, port: number): Headers {
  const headers: Headers = { Host: `${HOSTS[host]}:${port}` }
  if (origin === 'its own') headers.Origin = `http://${HOSTS[host].toLowerCase()}:${port}`
  else if (origin !== 'none') headers.Origin = ORIGINS[origin]
  if (origin === 'null, with the secret of the launch') headers['X-Svc-Local-Client'] = LAUNCH_SECRET
  if (origin === 'null, with another secret') headers['X-Svc-Local-Client'] = 'another-secret'
  if (forwarded === 'Forwarded: for loopback') headers.Forwarded = FORWARDING[forwarded]
  else if (forwarded === 'X-Forwarded-Anything') headers[forwarded] = FORWARDING[forwarded]
  else if (forwarded !== 'nobody' && forwarded !== 'nobody, in HTTP/1.0')
    headers['X-Forwarded-For'] = FORWARDING[forwarded]
  if (transport.endsWith('Basic header')) headers.Authorization = 'Basic YTpi'
  else if (!transport.includes('api_key') && header.length > 0) headers.Authorization = [...header]
  return headers
}

function targetOf({ path, transport }: Case, { token }: Credentials): string {
  return transport.includes('api_key') && token !== null ? `${path}?api_key=${encodeURIComponent(token)}` : path
}

/** Sends the case to the server on `port`, and returns the outcome. */
export async function tried(one: Case, credentials: Credentials, port: number): Promise<string> {
  const address = ADDRESSES[one.peer]!
  const options: Options = {
    host: one.peer.startsWith('own') || one.peer === 'loopback IPv6' ? address : '127.0.0.1',
    port,
    localAddress: address,
    headers: headersOf(one, credentials, port),
    createConnection: connectionOf(one),
  }
  return asked(options, targetOf(one, credentials), one.transport.startsWith('socket'))
}

/** Sends the case over its transport, and returns the outcome in the words of the expectation. */
export function asked(options: Options, path: string, socket: boolean): Promise<string> {
  return socket ? overSocket(options, path) : overHttp({ ...options, path })
}

export interface Options extends Omit<RequestOptions, 'createConnection'> {
  createConnection?: (options: unknown) => Socket
  host: string
  port: number
  headers: Headers
}

async function overHttp(options: Options & { path: string }): Promise<string> {
  const outgoing = send(options)
  outgoing.end()
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  const text = await textOf(incoming)
  const { statusCode: status } = incoming
  if (status === 200 && /^\/api\/workflows\/?$/.test(options.path)) return owners(JSON.parse(text))
  if (status === 401) return `401 ${text}`
  if (status! >= 400) return `${status} ${JSON.parse(text).error?.code === status ? 'in the form of errors' : text}`
  return String(status)
}

/** The owners of the stored workflows, which are named after them. */
function owners(workflows: readonly { name: string }[]): string {
  return workflows
    .map(({ name }) => name)
    .filter((name) => name.startsWith('user '))
    .join(' and ')
}

async function overSocket({ headers, createConnection, ...options }: Options, path: string): Promise<string> {
  const ws = new WebSocket('ws://localhost/', {
    headers: headers as Record<string, string>,
    createConnection: () => (createConnection ?? connect)(options as NetConnectOpts),
    // The path unchanged: a URL would be normalized.
    finishRequest: (request) => void Object.assign(request, { path }).end(),
  })
  ws.on('error', () => {})
  const refusal = once(ws, 'unexpected-response') as Promise<[ClientRequest, IncomingMessage]>
  const answer = await Promise.race([refusal, once(ws, 'open')])
  return answer.length === 2 ? bare(answer[1] as IncomingMessage) : opened(ws)
}

/** A refused upgrade, once the server has closed the connection. */
async function bare(incoming: IncomingMessage): Promise<string> {
  const { statusCode, statusMessage, socket } = incoming
  const closed = once(socket, 'close')
  const text = await textOf(incoming)
  await closed
  const good = text === '' && (statusCode !== 401 || statusMessage === 'Unauthorized')
  return `${statusCode} ${good ? 'bare' : `${statusMessage} ${text}`}`
}

async function opened(ws: WebSocket): Promise<string> {
  await using client = new Client(ws, 'binary')
  const { result, error } = await client.ask('list_workflows', {})
  if (!error) return owners((result as { workflows: { name: string }[] }).workflows)
  return (error as { code: string }).code === 'FORBIDDEN' ? 'visitor' : JSON.stringify(error)
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** Whether the outcome is the expected one. */
export function fits(expectation: string, seen: string): boolean {
  const status = Number(seen.split(' ')[0])
  if (expectation === '401 reason') return /^401 \{"error":"(?!Unauthorized"|Remote access)[^"\\]{1,200}"\}$/.test(seen)
  if (expectation === 'let in') return status !== 401 && status !== 403 && status < 500
  if (/^[45]\d\d$/.test(expectation)) return seen === `${expectation} in the form of errors`
  return seen === expectation
}
