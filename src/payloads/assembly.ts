// A large value that is put together from parts: containers that are larger than a part are filled part by part.
import { setMember } from '../members.ts'

type Container = unknown[] | Record<string, unknown>

/** Containers that are open, from the outermost one. */
export class Assembly {
  /** The outermost container, once it is open. */
  root: Container | null = null
  readonly #open: Container[] = []

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
    else this.addOne(key, container)
    this.#open.push(container)
  }

  /** Adds one member to the innermost container. `key` is its name there, if that is no list. */
  addOne(key: string | null, value: unknown): void {
    if (key === null) (this.#innermost as unknown[]).push(value)
    else setMember(this.#innermost as Record<string, unknown>, key, value)
  }

  close(): void {
    this.#open.pop()
  }

  /** Adds members to the innermost container. */
  add(part: Container): void {
    const to = this.#innermost
    if (Array.isArray(to)) for (const item of part as unknown[]) to.push(item)
    else for (const key in part) setMember(to, key, (part as Record<string, unknown>)[key])
  }
}
