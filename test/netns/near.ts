// The machine of the service, in a network of its own: starts servers, has them called from the machine next to it, and prints what
// came of each call. Both networks end with the processes in them: nothing of this is to be seen outside.
import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { LOCAL_PRINCIPAL } from '../../src/access/principal.ts'
import { startServer } from '../helpers/server.ts'
import { greeting } from '../http/kit.ts'
import type { Order } from './far.ts'

export interface Call {
  /** An address of the machine that calls. */
  readonly from: string
  /** The address of this machine that it calls. */
  readonly to: string
  readonly headers: Readonly<Record<string, string>>
  readonly socket: boolean
}

export interface Plan {
  /** The addresses of the two machines, side by side, with the length of their network. */
  readonly cable: readonly (readonly [near: string, far: string, bits: number])[]
  readonly servers: readonly { readonly environment: Record<string, string>; readonly calls: readonly Call[] }[]
}

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] })

/** Starts the other machine in a network of its own, and lays the cable. */
async function connected(cable: Plan['cable']): Promise<ChildProcess> {
  const far = fork(fileURLToPath(new URL('far.ts', import.meta.url)), {
    execPath: 'unshare',
    execArgv: ['--net', process.execPath],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await once(far, 'message')
  const there = (...args: string[]) =>
    execFileSync('nsenter', ['--target', String(far.pid), '--net', 'ip', ...args], { stdio: 'inherit' })
  ip('link', 'set', 'lo', 'up')
  ip('link', 'add', 'svc-near', 'type', 'veth', 'peer', 'name', 'svc-far', 'netns', String(far.pid))
  for (const [near_address, far_address, bits] of cable) {
    // Duplicate address detection would take a second.
    const nodad = near_address.includes(':') ? ['nodad'] : []
    ip('address', 'add', `${near_address}/${bits}`, 'dev', 'svc-near', ...nodad)
    there('address', 'add', `${far_address}/${bits}`, 'dev', 'svc-far', ...nodad)
  }
  ip('link', 'set', 'svc-near', 'up')
  there('link', 'set', 'svc-far', 'up')
  return far
}

async function called(far: ChildProcess, port: number, { from, to, headers, socket }: Call): Promise<string> {
  const order: Order = {
    options: { host: to, localAddress: from, port, headers: { ...headers }, agent: false },
    socket,
  }
  far.send(order)
  const [seen] = await once(far, 'message')
  return String(seen)
}

const plan = JSON.parse(await text(process.stdin)) as Plan
const far = await connected(plan.cable)
const results: string[][] = []
for (const { environment, calls } of plan.servers) {
  await using server = await startServer({ environment, config: { host: '::' } })
  await server.context.runs.workflows.create(LOCAL_PRINCIPAL, greeting({ name: 'user 1' }))
  const seen: string[] = []
  for (const call of calls) seen.push(await called(far, Number(new URL(server.url).port), call))
  results.push(seen)
}
const ended = once(far, 'exit')
far.kill()
await ended
console.log(JSON.stringify(results))
