// A client of event streams that costs as little as it can: it looks for the last event and counts nothing else.
import { type ClientRequest, get, type IncomingMessage } from 'node:http'

/** Opens `url`; resolves with the answer when its head is there. @throws where it is no success */
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

/** The last event fits into this many bytes: the result of the job must be short. */
const TAIL = 65_536
