// A client that requests `URL` again and again, as a separate process: `prober.ts URL`. It prints `ready` after its warm-up. After SIGTERM
// it prints the time of each answer, in milliseconds, as JSON.
import { Agent, get } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

const [, , url = ''] = process.argv
const WARM_UP = 200
/** The delay between an answer and the next request, so that the prober itself is little load. */
const PAUSE_MS = 1

const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const times: number[] = []
let stopped = false
process.on('SIGTERM', () => {
  stopped = true
})

function ask(): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`${url} answered ${answer.statusCode}`))
      answer.resume().once('end', resolve)
    }).once('error', reject)
  })
}

for (let i = 0; i < WARM_UP; i++) await ask()
console.log('ready')
while (!stopped) {
  const from = performance.now()
  await ask()
  times.push(performance.now() - from)
  await pause(PAUSE_MS)
}
agent.destroy()
console.log(JSON.stringify(times))
