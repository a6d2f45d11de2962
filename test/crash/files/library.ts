// The assets of a crash run. Forms create them; they are replaced and removed, some of them with their whole folder. Each name is unique,
// so that an asset whose creation was interrupted is found by its name or does not exist.
import type { Asset } from '../../../generated/types.ts'
import type { Content } from './content.ts'
import { Register } from './register.ts'

/** The number of top-level assets. */
const SINGLE = 2
/** The number of assets in each folder. */
const IN_BOX = 2

/** Assets that use one name in turn, with ids of the server. */
export class Slot {
  readonly register: Register
  /** The ids of the existing asset, as far as they are known. */
  id: string | null = null
  /** Whether its creation was acknowledged, once. */
  made = false
  /** Whether it was meant to replace another asset. */
  replaced = false

  constructor(name: string, tick: () => number) {
    this.register = new Register(name, tick)
  }

  get name(): string {
    return this.register.key
  }
}

/** A folder with assets, which is removed as a whole. */
export class Box {
  readonly slot: Slot
  readonly inside: readonly Slot[]

  constructor(name: string, tick: () => number) {
    this.slot = new Slot(name, tick)
    this.inside = Array.from({ length: IN_BOX }, (_, at) => new Slot(`${name}.${at}`, tick))
  }

  /** Whether the folder existed and is removed. */
  get gone(): boolean {
    return this.slot.made && this.slot.id === null
  }
}

export class Assets {
  readonly slots: readonly Slot[]
  /** The folder that is being filled, and those that a kill has left. */
  boxes: Box[] = []
  readonly #tick: () => number
  #made = 0
  #turns = 0

  constructor(tick: () => number) {
    this.#tick = tick
    this.slots = Array.from({ length: SINGLE }, (_, at) => new Slot(`asset${at}`, tick))
  }

  /** Whether folders have the next turn. They need more turns than top-level assets. */
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

/** The content that stands for a folder, which has none. */
export const FOLDER: Content = { bytes: Buffer.alloc(0), sha256: '' }

/** Returns the faults in a complete list, one line each. No change may be under way. */
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

/** A folder is removed together with its content: either all of it exists, or nothing. */
function judgeBox({ slot, inside }: Box, listed: readonly Asset[]): string[] {
  if (slot.id === null)
    return inside.filter(({ id }) => id !== null).map(({ name }) => `${name} is there without its folder`)
  return inside.flatMap(({ name, id, made }) => {
    if (id === null) return made ? [`${name} is gone, and its folder is there`] : []
    const { parent_id } = listed.find((one) => one.id === id)!
    return parent_id === slot.id ? [] : [`${name} lies in ${parent_id}, and not in its folder`]
  })
}
