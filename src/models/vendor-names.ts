// Names of tools as a vendor takes them. Names that it does not take are written otherwise for it, and read back in its answer.

export class ToolNames {
  readonly #pattern: RegExp
  readonly #outward = new Map<string, string>()
  readonly #inward = new Map<string, string>()
  /** Of names that are written alike: the number that the next one tries first. */
  readonly #numbers = new Map<string, number>()

  /** `pattern` matches names that the vendor takes: of letters, digits, `_` and `-`, among others, and at most 64 characters are never too many. */
  constructor(pattern: RegExp, names: Iterable<string>) {
    this.#pattern = pattern
    const all = new Set(names)
    // Names that can stay do so, whatever others become.
    for (const name of all) if (pattern.test(name)) this.#pair(name, name)
    for (const name of all) if (!this.#outward.has(name)) this.#pair(name, this.#free(name))
  }

  /** As the vendor takes it. */
  out(name: string): string {
    return this.#outward.get(name) ?? name
  }

  /** As whoever asked calls it. A name that nobody has is the model's own invention. */
  back(name: string): string {
    return this.#inward.get(name) ?? name
  }

  #pair(name: string, written: string): void {
    this.#outward.set(name, written)
    this.#inward.set(written, name)
  }

  #free(name: string): string {
    const plain = `_${name.replaceAll(/[^a-zA-Z0-9_-]/g, '_')}`.slice(0, 58)
    const bare = this.#pattern.test(plain.slice(1)) ? plain.slice(1) : plain
    let written = bare
    let number = this.#numbers.get(bare) ?? 2
    while (this.#inward.has(written)) written = `${bare}_${number++}`
    this.#numbers.set(bare, number)
    return written
  }
}
