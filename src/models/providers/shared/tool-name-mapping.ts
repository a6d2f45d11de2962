// Names of tools as a vendor takes them. Names that it does not take are written otherwise for it, and read back in its answer.

export class ToolNameMapping {
  readonly #pattern: RegExp
  readonly #vendorNames = new Map<string, string>()
  readonly #originalNames = new Map<string, string>()
  /** Of names that are written alike: the number that the next one tries first. */
  readonly #nextSuffixes = new Map<string, number>()

  /** `pattern` matches names that the vendor takes: of letters, digits, `_` and `-`, among others, and at most 64 characters are never too many. */
  constructor(pattern: RegExp, names: Iterable<string>) {
    this.#pattern = pattern
    const all = new Set(names)
    // Names that can stay do so, whatever others become.
    for (const name of all) if (pattern.test(name)) this.#addPair(name, name)
    for (const name of all) if (!this.#vendorNames.has(name)) this.#addPair(name, this.#createFreeName(name))
  }

  /** As the vendor takes it. */
  toVendorName(name: string): string {
    return this.#vendorNames.get(name) ?? name
  }

  /** As whoever asked calls it. A name that nobody has is the model's own invention. */
  fromVendorName(name: string): string {
    return this.#originalNames.get(name) ?? name
  }

  #addPair(name: string, written: string): void {
    this.#vendorNames.set(name, written)
    this.#originalNames.set(written, name)
  }

  #createFreeName(name: string): string {
    const plain = `_${name.replaceAll(/[^a-zA-Z0-9_-]/g, '_')}`.slice(0, 58)
    const bare = this.#pattern.test(plain.slice(1)) ? plain.slice(1) : plain
    let written = bare
    let number = this.#nextSuffixes.get(bare) ?? 2
    while (this.#originalNames.has(written)) written = `${bare}_${number++}`
    this.#nextSuffixes.set(bare, number)
    return written
  }
}
