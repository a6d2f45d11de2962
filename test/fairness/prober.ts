// The user who does not attack, as a separate process: `prober.ts URL TOKEN PROBES`. It repeats a few small requests, and prints `ready`
// after its warm-up. After SIGTERM it prints the times of the answers, in milliseconds, as JSON.
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { isWork, type Probe, type ProbeName, type Probes } from './probes.ts'

const [, , url = '', token = '', given = '{}'] = process.argv
const PROBES = JSON.parse(given) as Probes
const NAMES = Object.keys(PROBES) as ProbeName[]
/** The number of warm-up requests of each kind, and the fewest for work. */
const WARM_UP = 30
const LEAST_WARM_UP = 6

const stopped = new AbortController()
process.on('SIGTERM', () => stopped.abort())

function ask({ method, path, body, expected }: Probe, agent: Agent): Promise<void> {
  const headers = { Authorization: `Bearer ${token}`, ...(body ? { 'Content-Type': 'application/json' } : {}) }
  return new Promise((resolve, reject) => {
    let text = ''
    const sent = request(`${url}${path}`, { method, agent, headers }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`${method} ${path} answered ${answer.statusCode}`))
      answer.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      answer.once('end', () => {
        // A failing run counts as an answer as well.
        if (expected === undefined || text.includes(expected)) resolve()
        else reject(new Error(`${method} ${path} answered ${text.slice(0, 300)}`))
      })
    })
    sent.once('error', reject)
    sent.end(body)
  })
}

async function probe(of: Probe, agent: Agent, times: number[]): Promise<void> {
  while (!stopped.signal.aborted) {
    const from = performance.now()
    await ask(of, agent)
    times.push(performance.now() - from)
    await pause(of.pause_ms)
  }
}

const agents = NAMES.map(() => new Agent({ keepAlive: true }))
for (const [at, name] of NAMES.entries()) {
  const times = isWork(name) ? LEAST_WARM_UP : WARM_UP
  for (let i = 0; i < times; i++) await ask(PROBES[name], agents[at]!)
}
console.log('ready')
const times = NAMES.map(() => [] as number[])
await Promise.all(NAMES.map((name, at) => probe(PROBES[name], agents[at]!, times[at]!)))
for (const agent of agents) agent.destroy()
console.log(JSON.stringify(Object.fromEntries(NAMES.map((name, at) => [name, times[at]]))))
