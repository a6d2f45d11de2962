// Finds the bytes of each column in a database file, by table and index (the
// SQLite file format, sections 1.6 and 2.1). The file must have no log.
import { readFileSync } from 'node:fs'
import Database from 'better-sqlite3'

export interface Cell {
  /** `table.column` or `index.column`. The column of a row's number is `rowid`. */
  readonly column: string
  readonly at: number
  readonly length: number
  /** Whether the value is a text. */
  readonly isText: boolean
}

interface Tree {
  readonly name: string
  readonly root: number
  /** In the order of the file. */
  readonly columns: readonly string[]
}

/** Returns all stored values of a database, without those that lie only on overflow pages and those named in `except`. */
export function cellsOf(path: string, except: RegExp): Cell[] {
  const reader = new Reader(readFileSync(path))
  return treesOf(path)
    .filter(({ name }) => !except.test(name))
    .flatMap((tree) => [...reader.cells(tree, tree.root)])
}

function treesOf(path: string): Tree[] {
  const db = new Database(path, { readonly: true })
  try {
    const all = db.prepare('select type, name, rootpage as root, sql from sqlite_schema where rootpage > 0').all()
    return (all as { type: string; name: string; root: number; sql: string | null }[]).map((entry) => {
      const { name, root } = entry
      if (entry.type === 'index') {
        const columns = db.pragma(`index_xinfo("${name}")`) as { name: string | null }[]
        return { name, root, columns: columns.map((column) => column.name ?? 'rowid') }
      }
      const columns = db.pragma(`table_info("${name}")`) as { name: string; pk: number }[]
      // A table without row numbers stores its key first.
      const keys = /without rowid/i.test(entry.sql ?? '') ? columns.filter(({ pk }) => pk > 0) : []
      const rest = columns.filter((column) => !keys.includes(column))
      return { name, root, columns: [...keys.sort((one, other) => one.pk - other.pk), ...rest].map((one) => one.name) }
    })
  } finally {
    db.close()
  }
}

const INTERIOR_TABLE = 5
const LEAF_TABLE = 13
const INTERIOR_INDEX = 2
/** The number of bytes of a value by its serial type below 12. */
const LENGTHS = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0]

class Reader {
  readonly #file: Buffer
  readonly #page: number
  readonly #usable: number

  constructor(file: Buffer) {
    this.#file = file
    this.#page = file.readUInt16BE(16) === 1 ? 65_536 : file.readUInt16BE(16)
    this.#usable = this.#page - file[20]!
  }

  *cells(tree: Tree, page: number): Iterable<Cell> {
    const start = (page - 1) * this.#page
    const head = start + (page === 1 ? 100 : 0)
    const type = this.#file[head]!
    const isInterior = type === INTERIOR_TABLE || type === INTERIOR_INDEX
    const count = this.#file.readUInt16BE(head + 3)
    const pointers = head + (isInterior ? 12 : 8)
    for (let cell = 0; cell < count; cell++) {
      const at = start + this.#file.readUInt16BE(pointers + 2 * cell)
      if (isInterior) yield* this.cells(tree, this.#file.readUInt32BE(at))
      if (type !== INTERIOR_TABLE) yield* this.#cell(tree, isInterior ? at + 4 : at, type === LEAF_TABLE)
    }
    if (isInterior) yield* this.cells(tree, this.#file.readUInt32BE(head + 8))
  }

  *#cell({ name, columns }: Tree, from: number, isTable: boolean): Iterable<Cell> {
    const [payload, afterSize] = this.#varint(from)
    const start = isTable ? this.#varint(afterSize)[1] : afterSize
    if (isTable) yield { column: `${name}.rowid`, at: afterSize, length: start - afterSize, isText: false }
    const [headerLength, first] = this.#varint(start)
    const end = start + this.#local(payload, isTable)
    let at = start + headerLength
    for (let [next, column] = [first, 0]; next < start + headerLength; column++) {
      const [type, after] = this.#varint(next)
      const length = type >= 12 ? Math.floor((type - 12) / 2) : LENGTHS[type]!
      const here = Math.min(length, end - at)
      const isText = type > 12 && type % 2 === 1
      if (here > 0) yield { column: `${name}.${columns[column] ?? 'rowid'}`, at, length: here, isText }
      at += length
      next = after
    }
  }

  /** Returns how many bytes of a payload are on the page itself. */
  #local(payload: number, isTable: boolean): number {
    const most = isTable ? this.#usable - 35 : Math.floor(((this.#usable - 12) * 64) / 255) - 23
    if (payload <= most) return payload
    const least = Math.floor(((this.#usable - 12) * 32) / 255) - 23
    const some = least + ((payload - least) % (this.#usable - 4))
    return some <= most ? some : least
  }

  /** Returns a number of up to nine bytes, and its end. */
  #varint(from: number): [number, number] {
    let value = 0n
    for (let at = 0; at < 8; at++) {
      const byte = this.#file[from + at]!
      value = (value << 7n) | BigInt(byte & 0x7f)
      if (byte < 0x80) return [Number(value), from + at + 1]
    }
    return [Number((value << 8n) | BigInt(this.#file[from + 8]!)), from + 9]
  }
}
