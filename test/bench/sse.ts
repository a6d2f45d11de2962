// A minimal client of event streams: it only looks for the last event.
import { type ClientRequest, get, type IncomingMessage } from 'node:http'

/** Opens `url`. Resolves with the answer when its head has come. @throws for an error status */
export function open(url: string, headers: Readonly<Record<string, string>>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request: ClientRequest = get(url, { agent: false, headers: { ...headers } }, (answer) => {
      if (answer.statusCode === 200) return resolve(answer)
      request.destroy()
      reject(new Error(`${url} answered ${answer.statusCode}`))
    })
    request.once('error', reject)
  })
}

/** Reads a stream of events, or an array of them, to its end. @throws where it does not end with the terminal event */
export async function readToEnd(url: string, accept: 'text/event-stream' | 'application/json'): Promise<void> {
  const answer = await open(url, { accept })
  let end: Buffer = Buffer.alloc(0)
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    end = chunk.length < TAIL ? Buffer.concat([end, chunk]).subarray(-TAIL) : chunk.subarray(-TAIL)
  }
  if (!end.includes('job_terminal')) throw new Error(`${url} ended before the job did`)
}

/** The last event fits into this many bytes, so the job's result must be short. */
const TAIL = 65_536
