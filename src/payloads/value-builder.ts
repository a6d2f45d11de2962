// ValueBuilder builds a large value from parts: it fills containers that are larger than a part step by step.
import { setOwnProperty } from '../shared/own-property.ts'

/** A list with more items gets space for all items that may follow. Moving it to a larger space takes longer each time, up to half a second. */
const LONG_LIST = 1_000_000
/** More items than any list here can have. */
const MOST_ITEMS = 2 ** 24

type Container = unknown[] | Record<string, unknown>

/** Keeps the open containers, from the outermost to the innermost. */
export class ValueBuilder {
  /** The outermost container, once it is open. */
  root: Container | null = null
  readonly #open: Container[] = []
  /** The number of items of each open list; the list may have more space than items. */
  readonly #filled: number[] = []

  /** Number of open containers. */
  get depth(): number {
    return this.#open.length
  }

  get #innermost(): Container {
    return this.#open.at(-1)!
  }

  get isList(): boolean {
    return Array.isArray(this.#innermost)
  }

  /** Opens a container as the next member of the innermost one. `key` is its name there; null in a list. */
  open(isList: boolean, key: string | null): void {
    const container: Container = isList ? [] : {}
    if (this.#open.length === 0) this.root = container
    else this.addMember(key, container)
    this.#open.push(container)
    this.#filled.push(0)
  }

  /** Adds one member to the innermost container. `key` is its name there; null in a list. */
  addMember(key: string | null, value: unknown): void {
    if (key === null) (this.#innermost as unknown[])[this.#filled[this.depth - 1]!++] = value
    else setOwnProperty(this.#innermost as Record<string, unknown>, key, value)
  }

  close(): void {
    const container = this.#open.pop()
    const filled = this.#filled.pop()!
    if (Array.isArray(container)) container.length = filled
  }

  /** Adds members to the innermost container. `more`: roughly how many may follow, if it is a list. */
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
