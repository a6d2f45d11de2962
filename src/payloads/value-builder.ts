// A large value that is put together from parts: containers that are larger than a part are filled part by part.
import { setOwnProperty } from '../shared/own-property.ts'

/** A list with more items gets room for all that may come at once: moving it into a larger room takes longer each time, up to half a second. */
const LONG_LIST = 1_000_000
/** More items than any list may have that is put together here. */
const MOST_ITEMS = 2 ** 24

type Container = unknown[] | Record<string, unknown>

/** Containers that are open, from the outermost one. */
export class ValueBuilder {
  /** The outermost container, once it is open. */
  root: Container | null = null
  readonly #open: Container[] = []
  /** How many items each has, if it is a list: there may be room for more behind them. */
  readonly #filled: number[] = []

  /** How many containers are open. */
  get depth(): number {
    return this.#open.length
  }

  get #innermost(): Container {
    return this.#open.at(-1)!
  }

  get isList(): boolean {
    return Array.isArray(this.#innermost)
  }

  /** Opens a container as the next member of the innermost one. `key` is its name there, if that is no list. */
  open(isList: boolean, key: string | null): void {
    const container: Container = isList ? [] : {}
    if (this.#open.length === 0) this.root = container
    else this.addMember(key, container)
    this.#open.push(container)
    this.#filled.push(0)
  }

  /** Adds one member to the innermost container. `key` is its name there, if that is no list. */
  addMember(key: string | null, value: unknown): void {
    if (key === null) (this.#innermost as unknown[])[this.#filled[this.depth - 1]!++] = value
    else setOwnProperty(this.#innermost as Record<string, unknown>, key, value)
  }

  close(): void {
    const container = this.#open.pop()
    const filled = this.#filled.pop()!
    if (Array.isArray(container)) container.length = filled
  }

  /** Adds members to the innermost container. `more`: about how many may follow them, if it is a list. */
  addMembers(part: Container, more: number): void {
    const to = this.#innermost
    if (Array.isArray(to)) this.#addItems(to, part as unknown[], more)
    else for (const key in part) setOwnProperty(to, key, (part as Record<string, unknown>)[key])
  }

  #addItems(to: unknown[], items: readonly unknown[], more: number): void {
    const level = this.depth - 1
    let at = this.#filled[level]!
    const filled = at + items.length
    if (filled > LONG_LIST && filled > to.length) to.length = Math.max(filled, Math.min(filled + more, MOST_ITEMS))
    for (const item of items) to[at++] = item
    this.#filled[level] = filled
  }
}
