// One user attacks while another user works with the same server process. The kit measures the other user's answers. Attacks are in
// `attacks/`, one file for each family. Tests and `make bench ONLY=fairness` use this kit.
import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startIdentityProvider } from '../helpers/identity-provider.ts'
import { giveDatabase } from '../helpers/migrated.ts'
import { inMostRounds, PATIENCE_MS } from '../helpers/patience.ts'
import { type RunningProcess, runProcess, type ServingProcess, serve } from '../helpers/process.ts'
import { mostMs } from '../helpers/processor.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import { asElsewhere } from './elsewhere.ts'
import { type ProbeName, type Probes, probesOf } from './probes.ts'
import { User } from './user.ts'

/** Heavy work that a user may request. */
export interface Attack {
  readonly name: string
  /** Runs once, before the measurement. */
  prepare?(attacker: User): Promise<void>
  /** One round. It ends when the server has answered. */
  strike(attacker: User): Promise<unknown>
  /** The number of concurrent rounds. Absent: 1. */
  readonly side_by_side?: number
}

/** The size of an attack as a part of its full size: above 0, at most 1. */
export type AttackOf = (share: number) => Attack

const SCALE = Number(process.env.SVC_TEST_SCALE ?? 1)

/** The size of attacks in tests: `least`, and up to the full size with a larger SVC_TEST_SCALE. */
export function share(least: number): number {
  return Math.min(1, least * SCALE)
}

export interface Answers {
  readonly worst: number
  readonly middle: number
  /** The number of answers above the limit for the worst. */
  readonly late: number
  readonly count: number
}

/** Milliseconds. */
export interface Holds {
  /** The longest processor time of the server's main thread without a turn of the event loop. */
  readonly held: number
  /** As above, with the time for which it waited for the disk, such as for a commit. */
  readonly held_with_disk: number
  /** The most bytes that the main thread wrote to files without a turn of the event loop. */
  readonly written: number
}

export interface Figures extends Holds {
  /** The times of another user's answers, in milliseconds. */
  readonly answers: Readonly<Record<ProbeName, Answers>>
  /** The number of attacks. */
  readonly strikes: number
  /** The number of wrong answers to the attack, by their content. */
  readonly refusals: ReadonlyMap<string, number>
  /** The largest memory of the server's process until now, in bytes. Known only on Linux, 0 elsewhere. */
  readonly most_memory: number
}

export interface Under {
  /**
   * Attacks go on after wrong answers, such as refusals for want of room. At the end, unfinished attacks are abandoned, because some of
   * many wait for minutes behind others of the same user.
   */
  readonly refusals_count?: boolean
  /** Gives the server and the other user a higher priority, as if the attacker were on another machine. */
  readonly from_elsewhere?: boolean
}

export interface FairServer extends AsyncDisposable {
  readonly attacker: User
  /** Runs the attack once without other requests. */
  holdsOf(attack: Attack): Promise<Holds>
  /** Runs concurrent attacks until `enough`, each at least once, and measures another user's answers meanwhile. */
  under(attacks: readonly Attack[], enough: (passed_ms: number) => boolean, options?: Under): Promise<Figures>
}

const IDS = /\w+[_-][0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}/g
const LONGEST_REFUSAL = 200
/** The polling interval of `enough`. */
const OVER_LOOK_MS = 100
/** The delay after a refusal. */
const REFUSED_PAUSE_MS = 100

const script = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** A server with two users, as a separate process. */
export async function startFair(environment: Readonly<Record<string, string>> = {}): Promise<FairServer> {
  const folder = temporaryFolder()
  const idp = await startIdentityProvider()
  await giveDatabase(join(folder, 'svc.db'))
  const settings = { ...idp.environment, SVC_RATE_LIMIT_DISABLED: '1', ...environment }
  const server = await serve(folder, settings, script('watched-main.ts'))
  const elsewhere = new User(server.url, await idp.token({ sub: 'attacker', workspace_id: 'another' }))
  const signal = (name: NodeJS.Signals) => server.kill(name)
  const attacker = new User(server.url, await idp.token({ sub: 'attacker' }), { elsewhere, signal })
  const token = await idp.token({ sub: 'victim' })
  const probes = await probesOf(new User(server.url, token))
  const scene = { server, attacker, token, probes, prepared: new WeakSet<Attack>() }
  // One-time work of the process happens before the measurement.
  await using prober = await startProber(scene)
  prober.kill('SIGTERM')
  await prober.ended()
  return {
    attacker,
    holdsOf: (attack) => heldAlone(scene, attack),
    under: (attacks, enough, options = {}) => measured(scene, attacks, enough, options),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await idp[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

interface Scene {
  readonly server: ServingProcess
  readonly attacker: User
  readonly token: string
  readonly probes: Probes
  /** The data that was prepared on this server. */
  readonly prepared: WeakSet<Attack>
}

/** The user who does not attack, after the warm-up. */
async function startProber({ server, token, probes }: Scene): Promise<RunningProcess> {
  const prober = runProcess(script('prober.ts'), [server.url, token, JSON.stringify(probes)])
  await until('the prober', () => prober.stdout().includes('ready') || failed(prober.stderr()))
  return prober
}

async function prepare({ attacker, prepared }: Scene, attack: Attack): Promise<void> {
  if (prepared.has(attack)) return
  prepared.add(attack)
  await attack.prepare?.(attacker)
}

/** The effect of the last attack may come shortly after its answer. */
const AFTERWARDS_MS = 20

async function heldAlone(scene: Scene, attack: Attack): Promise<Holds> {
  await prepare(scene, attack)
  await longestHold(scene.server)
  await allOf(sideBySide(attack, () => attack.strike(scene.attacker)))
  await pause(AFTERWARDS_MS)
  return await longestHold(scene.server)
}

async function measured(
  scene: Scene,
  attacks: readonly Attack[],
  enough: (passed_ms: number) => boolean,
  { refusals_count = false, from_elsewhere = false }: Under,
): Promise<Figures> {
  const { server, attacker } = scene
  for (const attack of attacks) await prepare(scene, attack)
  await using prober = await startProber(scene)
  using _ = from_elsewhere ? asElsewhere() : null
  await longestHold(server)
  const from = performance.now()
  let strikes = 0
  const refusals = new Map<string, number>()
  const refused = ({ name }: Attack, { message }: Error) => {
    const what = `${name}: ${message.replace(IDS, 'ID').slice(0, LONGEST_REFUSAL)}`
    refusals.set(what, (refusals.get(what) ?? 0) + 1)
    return pause(REFUSED_PAUSE_MS)
  }
  const strikeAgain = async (attack: Attack) => {
    do {
      const struck = attack.strike(attacker)
      await (refusals_count ? struck.catch((error: Error) => refused(attack, error)) : struck)
      strikes++
    } while (!enough(performance.now() - from))
  }
  const all = allOf(attacks.flatMap((one) => sideBySide(one, () => strikeAgain(one))))
  const over = async () => {
    while (!enough(performance.now() - from)) await pause(OVER_LOOK_MS)
  }
  await (refusals_count ? Promise.race([all, over()]) : all)
  await pause(AFTERWARDS_MS)
  const holds = await longestHold(server)
  prober.kill('SIGTERM')
  const { stdout, stderr } = await prober.ended()
  const report = stdout.split('\n')[1]
  if (!report) throw new Error(`the prober gave no report: ${stderr}`)
  const times = Object.entries(JSON.parse(report) as Record<ProbeName, number[]>)
  return {
    ...holds,
    answers: Object.fromEntries(times.map(([name, of]) => [name, answersOf(of)])) as Figures['answers'],
    strikes,
    refusals: new Map(refusals),
    most_memory: mostMemory(server),
  }
}

function sideBySide<T>({ side_by_side = 1 }: Attack, strike: () => Promise<T>): Promise<T>[] {
  return Array.from({ length: side_by_side }, strike)
}

/** Waits for all of them, even where one fails. An unfinished round would be load in the next one. */
async function allOf(strikes: readonly Promise<unknown>[]): Promise<void> {
  await Promise.all(strikes).catch(async (error) => {
    await Promise.race([Promise.allSettled(strikes), pause(PATIENCE_MS, null, { ref: false })])
    throw error
  })
}

function mostMemory({ pid }: ServingProcess): number {
  if (process.platform !== 'linux') return 0
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

function failed(text: string): false {
  if (text.includes('Error')) throw new Error(text)
  return false
}

const HOLD = /longest hold ([\d.]+) ms, ([\d.]+) ms with the disk, (\d+) bytes/g

/** The longest hold since the last call. */
async function longestHold(server: ServingProcess): Promise<Holds> {
  const seen = () => [...server.stderr().matchAll(HOLD)]
  const before = seen().length
  server.kill('SIGUSR2')
  const [, held, held_with_disk, written] = await until('the longest hold', () => seen()[before])
  return { held: Number(held), held_with_disk: Number(held_with_disk), written: Number(written) }
}

/** Bytes that the main thread may write to files in one turn, by the size of the attacks. One statement writes a whole value of a job. */
const MOST_WRITTEN = 8_000_000 * SCALE

/** Fails where attacks hold the main thread for `longest` milliseconds of processor time or more, or write too much at once. */
export function checkHolds(what: string, { held, written }: Holds, longest: number): void {
  // A slow machine slows the server as well, so the limit grows.
  const most = mostMs(held, longest)
  assert.ok(held < most, `${what}: held for ${held} of ${Math.round(most)} ms of the processor`)
  assert.ok(written < MOST_WRITTEN, `${what}: ${written} bytes written in one turn of the event loop`)
}

/** Runs an attack once in each of some rounds. In most rounds it must hold the main thread for less than `longest` milliseconds. */
export async function holdsLittle(server: FairServer, attack: Attack, longest: number): Promise<void> {
  await inMostRounds(async () => checkHolds(attack.name, await server.holdsOf(attack), longest))
}

/** The limit for the worst answer to a small request of another user. */
export const WORST_MS = 250

/** The limit for the median of another user's work under attack, from its time on an idle server. */
export function allowedFor({ middle }: Answers): number {
  return 3 * middle + 100
}

function answersOf(times: readonly number[]): Answers {
  const sorted = [...times].sort((a, b) => a - b)
  const late = sorted.filter((time) => time > WORST_MS).length
  return { worst: sorted.at(-1) ?? 0, middle: sorted[sorted.length >> 1] ?? 0, late, count: sorted.length }
}
