// Assets of a crash run: made by forms, replaced and removed, some of them in folders that are removed with all that they hold. Their names are the
// harness's own, so that one whose making was cut off is found by its name or not at all.
import type { Asset } from '../../../generated/types.ts'
import type { Content } from './content.ts'
import { Register } from './register.ts'

/** Assets at the top level. */
const SINGLE = 2
/** In each folder. */
const IN_BOX = 2

/** One asset after another under one name, by ids that the server gives. */
export class Slot {
  readonly register: Register
  /** Of what is there, as far as is known. */
  id: string | null = null
  /** Whether its making was acknowledged, once. */
  made = false
  /** Whether it was to take another's place. */
  replaced = false

  constructor(name: string, tick: () => number) {
    this.register = new Register(name, tick)
  }

  get name(): string {
    return this.register.key
  }
}

/** A folder with assets in it, which is removed as a whole. */
export class Box {
  readonly slot: Slot
  readonly inside: readonly Slot[]

  constructor(name: string, tick: () => number) {
    this.slot = new Slot(name, tick)
    this.inside = Array.from({ length: IN_BOX }, (_, at) => new Slot(`${name}.${at}`, tick))
  }

  /** Whether it was there and is not any more. */
  get gone(): boolean {
    return this.slot.made && this.slot.id === null
  }
}

export class Assets {
  readonly slots: readonly Slot[]
  /** The one that is being filled, and those that a kill has left. */
  boxes: Box[] = []
  readonly #tick: () => number
  #made = 0
  #turns = 0

  constructor(tick: () => number) {
    this.#tick = tick
    this.slots = Array.from({ length: SINGLE }, (_, at) => new Slot(`asset${at}`, tick))
  }

  /** Whether it is the turn of folders, which take more of them than what is at the top level. */
  forBox(): boolean {
    return ++this.#turns % 3 !== 0
  }

  newBox(): Box {
    const box = new Box(`box${++this.#made}`, this.#tick)
    this.boxes.push(box)
    return box
  }

  get all(): Slot[] {
    return [...this.slots, ...this.boxes.flatMap(({ slot, inside }) => [slot, ...inside])]
  }
}

/** What a folder stands for among contents: it has none. */
export const FOLDER: Content = { bytes: Buffer.alloc(0), sha256: '' }

/** What is wrong with a list of everything that is there, a line each. Nothing may be under way. */
export function judgeList(assets: Assets, listed: readonly Asset[], tick: () => number): string[] {
  const wrong: string[] = []
  const left = new Set(listed)
  for (const slot of assets.all) {
    const found = listed.filter(({ name }) => name === slot.name)
    for (const one of found) left.delete(one)
    const possible = slot.register.possible(tick())
    const content = possible.find((one) => (found[0] ? one?.sha256 === (found[0].sha256 ?? '') : one === null))
    if (found.length > 1) wrong.push(`${slot.name} is there ${found.length} times`)
    else if (content === undefined)
      wrong.push(`${slot.name} is ${found[0] ? `there with ${found[0].sha256}` : 'gone'}, which it cannot be`)
    slot.register.settle(content ?? null)
    slot.id = found[0]?.id ?? null
    slot.made ||= slot.id !== null
  }
  return [
    ...wrong,
    ...[...left].map(({ name }) => `${name} is there, and nobody has made it`),
    ...assets.boxes.flatMap((box) => judgeBox(box, listed)),
  ]
}

/** A folder and what is in it go in one step: there is all of it, or nothing. */
function judgeBox({ slot, inside }: Box, listed: readonly Asset[]): string[] {
  if (slot.id === null)
    return inside.filter(({ id }) => id !== null).map(({ name }) => `${name} is there without its folder`)
  return inside.flatMap(({ name, id, made }) => {
    if (id === null) return made ? [`${name} is gone, and its folder is there`] : []
    const { parent_id } = listed.find((one) => one.id === id)!
    return parent_id === slot.id ? [] : [`${name} lies in ${parent_id}, and not in its folder`]
  })
}
