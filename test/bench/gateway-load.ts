// The load on a gateway, as a separate process: `gateway-load.ts JSON` with a `Load`. It sends requests over so many connections for so
// long, one after the other on each. It checks every answer and prints its results as JSON. With `holding` it opens as many endless
// streams, prints `ready` when each has its first chunk, and closes them at SIGTERM.
import { once } from 'node:events'
import { checkAnswer, chunksIn } from './gateway-answers.ts'
import { openWire, postText, type Wire } from './gateway-wire.ts'
import { percentile } from './turns.ts'

export interface Load {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
  readonly connections: number
  readonly seconds: number
  readonly holding?: boolean
}

export interface Seen {
  readonly answers: number
  readonly per_second: number
  /** The time to the end of an answer, and to the first byte of its body. */
  readonly p50_ms: number
  readonly p99_ms: number
  readonly first_p50_ms: number
  readonly first_p99_ms: number
}

const OPENED_AT_ONCE = 50
const load = JSON.parse(process.argv[2]!) as Load
const text = postText(load.url, load.headers, JSON.stringify(load.body))

async function wires(): Promise<Wire[]> {
  const open: Wire[] = []
  while (open.length < load.connections) {
    const more = Math.min(OPENED_AT_ONCE, load.connections - open.length)
    open.push(...(await Promise.all(Array.from({ length: more }, () => openWire(load.url)))))
  }
  return open
}

async function measure(open: readonly Wire[]): Promise<Seen> {
  const streamed = 'stream' in load.body
  const [all, first]: [number[], number[]] = [[], []]
  const from = performance.now()
  const end = from + load.seconds * 1_000
  const ask = async (wire: Wire) => {
    while (performance.now() < end) {
      const answer = await wire.ask(text)
      checkAnswer(answer.body, streamed)
      all.push(answer.ms)
      first.push(answer.first_ms)
    }
  }
  await Promise.all(open.map(ask))
  const seconds = (performance.now() - from) / 1_000
  const [p50_ms, p99_ms, first_p50_ms, first_p99_ms] = [all, first].flatMap((times) =>
    [0.5, 0.99].map((part) => percentile(times, part)),
  ) as [number, number, number, number]
  return { answers: all.length, per_second: all.length / seconds, p50_ms, p99_ms, first_p50_ms, first_p99_ms }
}

/** The number of chunks over all connections. */
async function hold(open: readonly Wire[]): Promise<number> {
  const bodies = open.map(() => '')
  const begun = open.map(
    (wire, n) =>
      new Promise<void>((resolve, reject) => {
        const heard = (body: string) => {
          bodies[n] = body
          resolve()
        }
        wire.ask(text, heard).then(() => reject(new Error('a stream ended')), reject)
      }),
  )
  await Promise.all(begun)
  console.log('ready')
  await once(process, 'SIGTERM')
  return bodies.reduce((sum, body) => sum + chunksIn(body), 0)
}

const open = await wires()
console.log(JSON.stringify(load.holding ? await hold(open) : await measure(open)))
for (const wire of open) wire.close()
process.exit(0)
