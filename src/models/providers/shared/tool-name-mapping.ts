// Maps tool names to names that a vendor accepts, and maps them back in its answer.

export class ToolNameMapping {
  readonly #pattern: RegExp
  readonly #vendorNames = new Map<string, string>()
  readonly #originalNames = new Map<string, string>()
  /** For each base name: the number that the next clashing name tries first. */
  readonly #nextSuffixes = new Map<string, number>()

  /** `pattern` matches the names that the vendor accepts. It must accept letters, digits, `_`, `-` and a length of 64 characters. */
  constructor(pattern: RegExp, names: Iterable<string>) {
    this.#pattern = pattern
    const all = new Set(names)
    // Accepted names come first, so that they stay unchanged.
    for (const name of all) if (pattern.test(name)) this.#addPair(name, name)
    for (const name of all) if (!this.#vendorNames.has(name)) this.#addPair(name, this.#createFreeName(name))
  }

  toVendorName(name: string): string {
    return this.#vendorNames.get(name) ?? name
  }

  /** The name in the request. A name that the model invented stays as it is. */
  fromVendorName(name: string): string {
    return this.#originalNames.get(name) ?? name
  }

  #addPair(name: string, vendorName: string): void {
    this.#vendorNames.set(name, vendorName)
    this.#originalNames.set(vendorName, name)
  }

  #createFreeName(name: string): string {
    const plain = `_${name.replaceAll(/[^a-zA-Z0-9_-]/g, '_')}`.slice(0, 58)
    const bare = this.#pattern.test(plain.slice(1)) ? plain.slice(1) : plain
    let vendorName = bare
    let number = this.#nextSuffixes.get(bare) ?? 2
    while (this.#originalNames.has(vendorName)) vendorName = `${bare}_${number++}`
    this.#nextSuffixes.set(bare, number)
    return vendorName
  }
}
