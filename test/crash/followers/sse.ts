// A follower over server-sent events, like an `EventSource`: it sends the last `id` that it received.
import { type IncomingMessage, request } from 'node:http'
import type { JobEvent } from '../../../generated/types.ts'
import type { Recording } from './recording.ts'

/**
 * Follows a job from the last event of its recording on. Resolves with null when the stream has ended correctly, or `signal` has aborted,
 * otherwise with the error.
 */
export async function followOverSse(
  url: string,
  job_id: string,
  recording: Recording,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const response = await open(url, job_id, recording.last, signal)
    if (response.statusCode === 204) return null
    if (response.statusCode !== 200) return `the events were answered with ${response.statusCode}`
    let rest = ''
    response.setEncoding('utf8')
    for await (const text of response as AsyncIterable<string>) {
      const blocks = (rest + text).split('\n\n')
      rest = blocks.pop()!
      for (const block of blocks) takeBlock(block, recording)
    }
    return recording.ended || signal.aborted ? null : 'the stream ended before the job had'
  } catch (error) {
    return signal.aborted ? null : `the stream broke: ${error}`
  }
}

function open(url: string, job_id: string, last: number, signal: AbortSignal): Promise<IncomingMessage> {
  const headers = { accept: 'text/event-stream', ...(last > 0 ? { 'last-event-id': String(last) } : {}) }
  return new Promise((resolve, reject) => {
    const outgoing = request(`${url}/api/jobs/${job_id}/events`, { headers, agent: false, signal }, resolve)
    outgoing.on('error', reject)
    outgoing.end()
  })
}

/** One event, or a comment. */
function takeBlock(block: string, recording: Recording): void {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const at = line.indexOf(':')
    if (at > 0) fields.set(line.slice(0, at), line.slice(at + 1).replace(/^ /, ''))
  }
  const data = fields.get('data')
  if (data === undefined) return
  const event = JSON.parse(data) as JobEvent
  if (fields.get('id') !== String(event.sequence) || fields.get('event') !== event.type) {
    recording.invalid.push(`id and event of the stream are not those of its data: ${block}`)
  }
  recording.take(event)
}
