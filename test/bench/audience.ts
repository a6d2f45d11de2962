// Followers of one event stream, as a separate process: `audience.ts URL COUNT`. It prints `ready` when all of them are connected. When the
// stream has ended, it prints when the last follower got each event: `[sequence, ms][]` as JSON. The clock is the machine's own
// (CLOCK_MONOTONIC), which other processes share.
import { open } from './sse.ts'

const CONNECTED_AT_ONCE = 50

interface Arrival {
  got: number
  last_ms: number
}

const [, , url = '', given = '1'] = process.argv
const count = Number(given)
const arrivals = new Map<number, Arrival>()

function note(text: string): void {
  const now = Number(process.hrtime.bigint()) / 1e6
  for (const [, id] of text.matchAll(/^id: (\d+)$/gm)) {
    const arrival = arrivals.get(Number(id)) ?? { got: 0, last_ms: 0 }
    arrivals.set(Number(id), { got: arrival.got + 1, last_ms: now })
  }
}

async function follow(onReady: () => void): Promise<void> {
  const answer = await open(url, { accept: 'text/event-stream' })
  let rest = ''
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    onReady()
    const text = rest + chunk.toString('latin1')
    const whole = text.lastIndexOf('\n\n') + 2
    note(text.slice(0, whole))
    rest = text.slice(whole)
  }
}

const followers: Promise<void>[] = []
while (followers.length < count) {
  const group = Array.from({ length: Math.min(CONNECTED_AT_ONCE, count - followers.length) }, () => {
    const ready = Promise.withResolvers<void>()
    const followed = follow(ready.resolve)
    followed.catch(ready.reject)
    followers.push(followed)
    return ready.promise
  })
  await Promise.all(group)
}
console.log('ready')
await Promise.all(followers)
const complete = [...arrivals]
  .filter(([, { got }]) => got === count)
  .map(([sequence, { last_ms }]) => [sequence, last_ms])
console.log(JSON.stringify(complete))
