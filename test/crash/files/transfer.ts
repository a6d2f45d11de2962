// Sends bytes to, and reads them from, a server that may be killed meanwhile.
import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'

export interface Sent {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string | number>>
  /** The chunks are written one after the other, without a pause. */
  readonly pieces?: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

export interface Told {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  /** Whether the answer came to its end. */
  readonly whole: boolean
}

/** Returns the answer of a server, as far as it came. @throws where none began */
export async function exchange(url: string, { method, path, headers, pieces = [] }: Sent): Promise<Told> {
  const answered = Promise.withResolvers<IncomingMessage>()
  const outgoing = request(new URL(path, url), { method, agent: false, headers: headers ?? {} }, answered.resolve)
  const gone = new Promise<void>((resolve) => outgoing.once('close', resolve))
  outgoing.on('error', answered.reject)
  // The error reaches the caller that awaits the answer. It must not be unhandled before that.
  answered.promise.catch(() => outgoing.destroy())
  for await (const piece of pieces) {
    if (outgoing.destroyed) break
    if (!outgoing.write(piece)) await Promise.race([once(outgoing, 'drain'), gone])
  }
  outgoing.end()
  return told(await answered.promise)
}

async function told(incoming: IncomingMessage): Promise<Told> {
  const { statusCode: status = 0, headers } = incoming
  const pieces: Buffer[] = []
  let whole = true
  try {
    for await (const piece of incoming) pieces.push(piece as Buffer)
  } catch {
    whole = false
  }
  return { status, headers, bytes: Buffer.concat(pieces), whole }
}
