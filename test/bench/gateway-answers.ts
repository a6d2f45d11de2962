// The answers of the upstream for the gateway's benchmarks, and a client's check that all of them came in order.

/** The end of a stream. */
export const CHUNKS = 200
const HEAD = { id: 'chatcmpl-bench', created: 1_700_000_000, model: 'fast' }
const USAGE = { prompt_tokens: 12, completion_tokens: CHUNKS, total_tokens: CHUNKS + 12 }

export const DONE = 'data: [DONE]\n\n'

/** Each chunk has its number. */
export function eventAt(at: number): string {
  return event([{ index: 0, delta: { content: ` w${at}` }, logprobs: null, finish_reason: null }])
}

function event(choices: readonly object[], more: object = {}): string {
  return `data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', choices, ...more })}\n\n`
}

/** The end of the text, and the usage. */
export const LAST =
  event([{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }]) + event([], { usage: USAGE })

const text = Array.from({ length: CHUNKS }, (_, at) => ` w${at}`).join('')
const message = { role: 'assistant', content: text, refusal: null }
export const WHOLE = JSON.stringify({
  ...HEAD,
  object: 'chat.completion',
  choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
  usage: USAGE,
})

/** Returns the number of chunks. @throws where a chunk is missing, duplicated or misplaced */
export function chunksIn(body: string): number {
  let count = 0
  for (const [, number] of body.matchAll(/"content":" w(\d+)"/g)) {
    if (Number(number) !== count) throw new Error(`chunk ${number} came in the place of chunk ${count}`)
    count++
  }
  return count
}

/** @throws where a whole answer, or an ended stream, is incomplete */
export function checkAnswer(body: string, streamed: boolean): void {
  if (!streamed && !body.includes(`"content":"${text}"`)) throw new Error(`another answer: ${body.slice(0, 300)}`)
  if (!streamed) return
  const count = chunksIn(body)
  if (count !== CHUNKS || !body.endsWith(DONE)) throw new Error(`${count} of ${CHUNKS} chunks, and ${body.slice(-60)}`)
}
