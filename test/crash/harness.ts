// The crash run: lives of the server that end with a kill, a last life in which all jobs may end, and the verdict.
import { cpSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cannotMount, fill, type Mount, smallDisk } from '../db/kit.ts'
import { MAIN, runProcess, serve } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/server.ts'
import { judgeDatabase } from './audit/database.ts'
import { type CensusRow, census, databaseOf, RUNNING } from './census.ts'
import { Counter } from './counter.ts'
import { copiedPages } from './damage/acknowledged.ts'
import { DamageTrials } from './damage/trials.ts'
import { Deck } from './deck.ts'
import { filesBelow } from './files/below.ts'
import { judgeFolder } from './files/folder.ts'
import { lookAfterKill } from './files/looks.ts'
import { openFiles } from './files/play.ts'
import { Shelf } from './files/shelf.ts'
import { gather } from './gather.ts'
import { KINDS, type KindName } from './graphs.ts'
import { Ledger } from './ledger.ts'
import { Life } from './life.ts'
import { Random } from './random.ts'
import { type Report, report } from './report.ts'
import { Scene } from './scene.ts'
import { relent } from './strike.ts'
import { storeWorkflows } from './submit.ts'

export interface CrashOptions {
  readonly kills: number
  readonly seed: string
  readonly say?: (line: string) => void
  readonly sabotage?: Sabotage
  /** How long the last life may take to end all jobs, in milliseconds. */
  readonly last_wait_ms?: number
  /** The kinds of jobs. Absent: all of them. */
  readonly kinds?: readonly KindName[]
}

/** Makes a sound run fail, from outside of the server. */
export interface Sabotage {
  /** Runs between a kill and the next start, on the stopped database. */
  between?(data_dir: string, kill: number): void
  /** Returns the URL for followers, instead of the server's own. */
  detour?(url: string): Promise<Detour>
}

type LogLevel = 'info' | 'error'

export interface Detour extends AsyncDisposable {
  readonly url: string
}

const LAST_WAIT_MS = 90_000
/** How long the sockets have to catch up with the other followers. */
const SOCKETS_WAIT_MS = 3_000

/** Every n-th kill comes at the moment of a cancellation. */
const STRIKE_EVERY = 2

/** Every n-th life ends with SIGTERM under load. Every n-th life ends with a kill at the acknowledgement of a cancellation. */
const STOP_EVERY = 6
const CANCEL_EVERY = 4

/** After every n-th kill, copies of its data are damaged, and their number. */
const DAMAGE_EVERY = 5
const DAMAGED_COPIES = 2

/** Every n-th life fills its disk, unless it ends in another special way. */
const FULL_EVERY = 12
const FULL_AT = 7
/** The free room besides the existing data and the unfinished work of an earlier life. */
const ROOM_BYTES = 64 * 1024 * 1024

/** How often a server is killed while it starts. */
const BORN_DEAD = 0.15

/** With this many kills there is time for delays that are longer than a life. */
const LONG_RUN = 50

export async function crash(options: CrashOptions): Promise<Report> {
  const data_dir = temporaryFolder()
  try {
    await using counter = await Counter.start(options.seed)
    return await new Run(options, data_dir, counter).whole()
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}

class Run {
  readonly #options: CrashOptions
  #data_dir: string
  readonly #random: Random
  readonly #ledger: Ledger
  readonly #deck: Deck
  readonly #shelf: Shelf
  readonly #environment: Readonly<Record<string, string>>
  readonly #damages: DamageTrials
  readonly #kinds: readonly KindName[]
  #hits = 0
  /** Pages of the last life's log that are in its database. */
  #copied = 0

  constructor(options: CrashOptions, data_dir: string, counter: Counter) {
    this.#options = options
    this.#data_dir = data_dir
    this.#random = new Random(options.seed)
    this.#ledger = new Ledger(counter)
    this.#kinds = options.kinds ?? KINDS
    this.#deck = new Deck(this.#ledger, this.#random.fork('deck'), this.#kinds)
    this.#shelf = new Shelf(this.#random.fork('files'))
    const settings = { SVC_MAX_CONCURRENT_JOBS: '10', SVC_WS_RATE_LIMIT_DISABLED: '1', SVC_LOG_LEVEL: 'error' }
    this.#environment = { ...settings, SVC_HTTP_NODE_ALLOW: counter.host }
    // Jobs of a copy must not reach the witness, because their calls do not count.
    this.#damages = new DamageTrials(settings)
  }

  async whole(): Promise<Report> {
    const started = performance.now()
    for (let kill = 1; kill <= this.#options.kills; kill++) {
      if (kill % FULL_EVERY === FULL_AT && cannotMount === false) await this.#onSmallDisk(kill)
      else await this.#untilKilled(kill)
      this.#options.sabotage?.between?.(this.#data_dir, kill)
      if (kill % DAMAGE_EVERY === DAMAGE_EVERY - 2) await this.#damage(kill)
      if (this.#random.chance(BORN_DEAD)) await this.#killedAtStart()
    }
    const all = await this.#last()
    const faults = [...(await judgeFolder(this.#data_dir, this.#shelf)), ...(await judgeDatabase(this.#data_dir))]
    const { kills, seed } = this.#options
    const seconds = (performance.now() - started) / 1000
    const known = { ledger: this.#ledger, shelf: this.#shelf, hits: this.#hits, damages: this.#damages }
    return report({ kills, seed, seconds, evidence: all, faults, ...known })
  }

  async #damage(kill: number): Promise<void> {
    const random = this.#random.fork(`damage ${kill}`)
    for (const line of await this.#damages.damage(this.#data_dir, this.#copied, random, DAMAGED_COPIES))
      this.#options.say?.(`  damage after kill ${kill}: ${line}`)
  }

  /** Runs a life of the server on a copy of its folder on a small disk, which is full for a while. Its data is copied back. */
  async #onSmallDisk(number: number): Promise<void> {
    const home = this.#data_dir
    using disk = smallDisk(sizeBelow(home) + ROOM_BYTES)
    copyFolder(home, disk.path)
    this.#data_dir = disk.path
    await this.#untilKilled(number, disk)
    this.#data_dir = home
    rmSync(home, { recursive: true })
    copyFolder(disk.path, home)
  }

  async #untilKilled(number: number, disk: Mount | null = null): Promise<void> {
    // Only a log of this level reports a job whose history cannot be written for lack of room.
    await this.#inLife(number, disk ? 'info' : 'error', async (life, scene) => {
      if (number === 1) await storeWorkflows(life, [...this.#kinds, 'burst'])
      scene.open(false)
      const stored = openFiles(life, this.#shelf, this.#random.fork(`files ${number}`))
      if (this.#options.kills >= LONG_RUN && number % 10 === 5) scene.add('later')
      const acknowledged = await scene.play(this.#random.fork(`life ${number}`))
      await stored()
      const struck = number % STRIKE_EVERY === 0 && (await scene.strike(this.#data_dir))
      using filled = disk && fill(disk.path)
      const short = filled && (await scene.runShort(filled, this.#random.fork(`full ${number}`)))
      const stops = number % STOP_EVERY === STOP_EVERY - 1
      const at = (await this.#endLife(number, scene)) ?? (await life.kill())
      this.#copied = copiedPages(databaseOf(this.#data_dir))
      // SQLite creates the index of its log to read the database, which may need room.
      filled?.[Symbol.dispose]()
      if (number % STRIKE_EVERY === 0) relent(this.#data_dir)
      const rows = await this.#record(at)
      if (stops || rows.some(({ status }) => RUNNING.includes(status))) this.#hits++
      const cancelled = struck ? ', one cancelled' : ''
      const full = short ? `, ${short}` : ''
      this.#options.say?.(`kill ${number}: ${acknowledged} acknowledged${cancelled}${full}; it met ${met(rows)}`)
    })
  }

  /** Ends the life in a special way, where its turn has come. Null where it has not. */
  #endLife(number: number, scene: Scene): Promise<number | null> {
    const random = this.#random.fork(`end ${number}`)
    if (number % STOP_EVERY === STOP_EVERY - 1) return scene.stop(random)
    return number % CANCEL_EVERY === 1 ? scene.killAtCancellation(random) : Promise.resolve(null)
  }

  /** Kills a server before it listens. It may have begun to recover jobs. This does not count as a kill. */
  async #killedAtStart(): Promise<void> {
    await using server = runProcess(MAIN, ['serve', '--port', '0'], {
      ...this.#environment,
      SVC_DATA_DIR: this.#data_dir,
    })
    await Promise.race([server.ended(), sleep(this.#random.int(200, 900))])
    const at = Date.now()
    server.kill('SIGKILL')
    await server.ended()
    await this.#record(at)
  }

  /** Records the jobs that a kill found, from the database that it left. */
  async #record(at: number): Promise<CensusRow[]> {
    await this.#ledger.counter.caughtUp()
    const rows = census(this.#data_dir)
    const byId = new Map(rows.map((row) => [row.id, row]))
    this.#ledger.judgeRefusals(new Set(byId.keys()))
    for (const job of this.#ledger.jobs) {
      if (job.job_id === null || job.settled) continue
      job.kills.push({ at, until: Date.now(), status: byId.get(job.job_id)?.status ?? null })
      job.settled = job.seenOff
    }
    return rows
  }

  async #last(): Promise<ReturnType<typeof gather>> {
    let all: Awaited<ReturnType<typeof gather>> = []
    await this.#inLife(this.#options.kills + 1, 'error', async (life, scene) => {
      scene.open(true)
      await lookAfterKill(life.server.url, this.#shelf, () => life.over)
      const deadline = performance.now() + (this.#options.last_wait_ms ?? LAST_WAIT_MS)
      const done = () => scene.atRest || performance.now() > deadline
      await life.until(done)
      const moment = performance.now() + SOCKETS_WAIT_MS
      await life.until(() => scene.told || performance.now() > moment)
      all = await gather(life, census(this.#data_dir))
      await life.retire()
      life.server.kill('SIGTERM')
      await life.settle()
    })
    return all
  }

  async #inLife(number: number, log: LogLevel, work: (life: Life, scene: Scene) => Promise<void>): Promise<void> {
    await using server = await serve(this.#data_dir, { ...this.#environment, SVC_LOG_LEVEL: log })
    await using detour = (await this.#options.sabotage?.detour?.(server.url)) ?? null
    this.#ledger.short = false
    const life = new Life(number, server, this.#ledger, detour?.url)
    const scene = await Scene.set(life, this.#deck)
    try {
      await work(life, scene)
    } finally {
      await scene.clear()
    }
  }
}

/** Copies a folder with the times of its files, which show their age. */
function copyFolder(from: string, to: string): void {
  cpSync(from, to, { recursive: true, preserveTimestamps: true })
}

/** In bytes. */
function sizeBelow(folder: string): number {
  return filesBelow(folder).reduce((sum, path) => sum + statSync(join(folder, path)).size, 0)
}

function met(rows: readonly CensusRow[]): string {
  const counts = ['running', 'recovering', 'queued', 'paused', 'cancel_requested'].map((status) => ({
    status,
    count: rows.filter((row) => row.status === status).length,
  }))
  const some = counts.filter(({ count }) => count > 0).map(({ status, count }) => `${count} ${status}`)
  return some.join(', ') || 'nothing'
}
