// The moment in which an acknowledgement arrives. The server is killed then, or stopped
// while its folder is copied. The copy is what a kill would have left.
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { type IncomingMessage, request as send } from 'node:http'
import type { ServingProcess } from '../helpers/process.ts'
import { type Client, connect, type Frame } from '../helpers/socket.ts'

/** The synchronous action on the server when the acknowledgement arrives. */
export type Strike = (server: ServingProcess) => void

export const kill: Strike = (server) => void process.kill(server.pid, 'SIGKILL')

/** Copies the folder as a kill would leave it, and lets the server go on. */
export function copyTo(from: string, to: string): Strike {
  return ({ pid }) => {
    process.kill(pid, 'SIGSTOP')
    try {
      waitUntilStopped(pid)
      mkdirSync(to)
      cpSync(from, to, { recursive: true })
    } finally {
      process.kill(pid, 'SIGCONT')
    }
  }
}

/** A signal takes effect shortly after it is sent. Only Linux shows when. Elsewhere the start of the copy takes long enough. */
function waitUntilStopped(pid: number): void {
  if (process.platform !== 'linux') return
  while (!/\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')));
}

export interface HttpRequest {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly raw?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface HttpAck {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  /** The body as JSON; null without one. */
  // biome-ignore lint/suspicious/noExplicitAny: each row knows what it asked for
  readonly body: any
}

/** Sends a request, and acts when the head of its answer arrives. A server that is killed then has already sent the body. */
export function overHttp(server: ServingProcess, { method, path, body, raw, headers }: HttpRequest, strike: Strike) {
  const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body))
  const type = raw === undefined && payload !== undefined ? { 'Content-Type': 'application/json' } : {}
  const length = payload === undefined ? {} : { 'Content-Length': Buffer.byteLength(payload) }
  const { hostname: host, port } = new URL(server.url)
  return new Promise<HttpAck>((resolve, reject) => {
    const outgoing = send({ host, port, method, path, agent: false, headers: { ...type, ...length, ...headers } })
    outgoing.on('error', reject)
    outgoing.on('response', (answer) => {
      strike(server)
      textOf(answer)
        .then((text) => {
          const { statusCode: status = 0, headers: got } = answer
          resolve({ status, headers: got, body: /json/.test(String(got['content-type'])) ? JSON.parse(text) : null })
        })
        .catch(reject)
    })
    outgoing.end(payload)
  })
}

/** Reads the body as far as it came. The data of a killed server is complete, and its connection is reset after it. */
function textOf(answer: IncomingMessage): Promise<string> {
  let text = ''
  answer.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  answer.on('error', () => {})
  return new Promise((resolve) => answer.once('close', () => resolve(text)))
}

export interface Command {
  readonly command: string
  readonly data: object
  /** A text that only the acknowledging frame contains. Absent: the `request_id`. */
  readonly sign?: string
  /** The sending socket. Absent: a new one. */
  readonly client?: Client
}

let requests = 0

/** Sends a command, and acts when its acknowledging frame arrives, before the frame is decoded. */
export async function overSocket(server: ServingProcess, { command, data, sign, client }: Command, strike: Strike) {
  const own = client ?? (await connect(server))
  const request_id = `acknowledged-${++requests}`
  let struck = false
  const acknowledged = new Promise<void>((resolve, reject) => {
    own.ws.prependListener('message', (frame: Buffer) => {
      if (struck || !frame.includes(sign ?? request_id)) return
      struck = true
      strike(server)
      resolve()
    })
    own.ws.once('close', () => reject(new Error(`${command} was not acknowledged`)))
  })
  own.command(command, data, request_id)
  await acknowledged
  const isAck = (frame: Frame) => JSON.stringify(frame).includes(sign ?? request_id)
  const frame = own.frames.find(isAck) ?? (await own.next(isAck))
  if (!client) await own[Symbol.asyncDispose]()
  return frame
}
