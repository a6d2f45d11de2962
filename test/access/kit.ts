// Shared by the tests of authentication: a request of the local user, settings of Local mode, IP ranges, and raw requests.
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { AuthenticationSettings } from '../../src/access/authentication-rules.ts'
import { type RequestFacts, readRequestFacts, type Transport } from '../../src/access/request-facts.ts'
import { type IpRange, parseIpRange } from '../../src/net/ip-addresses.ts'
import { OwnRequestDetector } from '../../src/net/own-request-detector.ts'

/** A loopback caller without an origin or a token. */
export const FACTS: RequestFacts = {
  transport: 'http',
  path: '/api/workflows',
  peer: '127.0.0.1',
  own_request: false,
  own_connection: false,
  forwards: false,
  forwarded_by: null,
  forwarded_for: null,
  host: 'localhost:7777',
  origin: null,
  local_client: null,
  token: null,
  malformed: false,
}

/** For a process that sends no requests. */
export const NONE_SENT = new OwnRequestDetector('none')

/** The settings of a server that was started without any. */
export const SETTINGS: AuthenticationSettings = {
  identity_provider: null,
  trusted_proxies: [],
  trust_localhost: true,
  trust_local_networks: [],
  allowed_hosts: [],
  allowed_origins: [],
  public_url: null,
  local_client_token: null,
}

export function rangesOf(...texts: string[]): IpRange[] {
  return texts.map((text) => {
    const range = parseIpRange(text)
    if (!range) throw new Error(`${text} is no range`)
    return range
  })
}

/** Sends a raw request. Returns the status of the answer and its body as text. */
export function exchange(port: number, head: string): Promise<{ status: number; head: string; body: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${head}\r\nConnection: close\r\n\r\n`))
    const chunks: Buffer[] = []
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => {
      const [answer = '', ...body] = Buffer.concat(chunks).toString().split('\r\n\r\n')
      resolve({ status: Number(answer.split(' ')[1]), head: answer, body: body.join('\r\n\r\n') })
    })
  })
}

export interface FactsReader extends AsyncDisposable {
  /** The facts of a request line and header lines, which Node parses as for the service. */
  read(line: string, headers?: readonly string[], transport?: Transport, version?: string): Promise<RequestFacts>
}

export async function factsReader(): Promise<FactsReader> {
  let transport: Transport = 'http'
  const server = createServer({ requireHostHeader: false }, (request, response) => {
    response.end(JSON.stringify(readRequestFacts(request, transport, NONE_SENT)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    async read(line, headers = ['Host: localhost'], as = 'http', version = '1.1') {
      transport = as
      const { status, body } = await exchange(port, [`${line} HTTP/${version}`, ...headers].join('\r\n'))
      if (status !== 200) throw new Error(`${line} was answered with ${status}`)
      const chunk = /^[0-9a-f]+\r\n(.*)\r\n0/s.exec(body)
      return JSON.parse(chunk?.[1] ?? body) as RequestFacts
    },
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}
