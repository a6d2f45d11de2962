// The files of a crash run over all lives of the server: the writes with their outcomes, and the faults.
import type { Fault, FaultKind } from '../evidence.ts'
import type { Random } from '../random.ts'
import { type Content, contentOf } from './content.ts'
import { Assets } from './library.ts'
import { Register } from './register.ts'

/** The number of files under keys of their own, and of temporary ones. */
const KEPT = 10
const PASSING = 3

const REMOVED_EVERY = 5
const REFUSED_EVERY = 8

/** How often each kind of action happened. A run has to see each of them. */
export interface FileWays {
  'a file was stored': number
  'a file was removed': number
  'a file was refused for its digest': number
  'storing a file was cut off': number
  'a file was there after a kill': number
  'a removed file stayed gone after a kill': number
  'a file was read while others were stored': number
  'a temporary upload was there after a kill': number
  'an asset was made': number
  'an asset was replaced': number
  'an asset was removed': number
  'a folder was removed with what it held': number
  'an asset was there after a kill': number
}

/** An acknowledged temporary upload. */
export interface Upload {
  readonly uri: string
  /** The text from which its content is derived. */
  readonly seed: string
  readonly size: number
}

export class Shelf {
  readonly registers: readonly Register[]
  readonly uploads: Upload[] = []
  readonly assets: Assets
  readonly faults: Fault[] = []
  readonly ways: FileWays = {
    'a file was stored': 0,
    'a file was removed': 0,
    'a file was refused for its digest': 0,
    'storing a file was cut off': 0,
    'a file was there after a kill': 0,
    'a removed file stayed gone after a kill': 0,
    'a file was read while others were stored': 0,
    'a temporary upload was there after a kill': 0,
    'an asset was made': 0,
    'an asset was replaced': 0,
    'an asset was removed': 0,
    'a folder was removed with what it held': 0,
    'an asset was there after a kill': 0,
  }
  readonly #random: Random
  #ticks = 0
  #turns = 0
  #contents = 0
  #last: Content | null = null

  constructor(random: Random) {
    this.#random = random
    const names = Array.from({ length: KEPT }, (_, at) => (at % 2 === 0 ? `1/f${at}.bin` : `1/deep/er/f${at}`))
    const passing = Array.from({ length: PASSING }, (_, at) => `temp/1/t${at}.bin`)
    this.assets = new Assets(this.tick)
    this.registers = [
      ...names.map((key) => new Register(key, this.tick)),
      ...passing.map((key) => new Register(key, this.tick, true)),
    ]
  }

  /** How often assets were changed. */
  librarian = 0

  readonly tick = (): number => ++this.#ticks

  /** The next player. Each gets enough turns, even in a life with few turns. */
  turn(): 'remove' | 'refuse' | 'store' {
    const turn = ++this.#turns
    if (turn % REMOVED_EVERY === 0) return 'remove'
    return turn % REFUSED_EVERY === 0 ? 'refuse' : 'store'
  }

  find(kind: FaultKind, what: string): void {
    this.faults.push({ kind, job_id: null, what })
  }

  /** Returns bytes to store. Sometimes they are the last stored ones, perhaps under another key: equal bytes are stored once. */
  draw(): Content {
    if (this.#last && this.#random.chance(0.2)) return this.#last
    this.#last = contentOf(`${this.#random.seed} ${++this.#contents}`, this.#size())
    return this.#last
  }

  #size(): number {
    const kib = 1_024
    if (this.#random.chance(0.05)) return 0
    return this.#random.chance(0.3) ? this.#random.int(128 * kib, 768 * kib) : this.#random.int(1, 32 * kib)
  }
}
