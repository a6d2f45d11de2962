// The files of models in the models folder: `owner/name/file.gguf` is the model `owner/name/file`. What begins with a dot is none, so that
// what is only partly there is never seen, and neither is what a link leads to out of the folder, or in a linked folder.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type GgufHeader, NoGguf, readGguf } from './local-gguf.ts'
import { type Found, filesBelow } from './local-walk.ts'

/** Where files of models are, unless the settings say otherwise. */
export function modelsFolder(config: { readonly models_dir: string | null; readonly data_dir: string }): string {
  return config.models_dir ?? join(config.data_dir, 'models')
}

export interface LocalFile {
  /** Its path without its ending, with `/` between its parts. */
  readonly name: string
  readonly path: string
  /** Of all its parts, where it has several. */
  readonly size: number
  /** When its file was changed, in milliseconds since the epoch. */
  readonly changed_at: number
  /** Null where the file is none of a model, or cannot be read. */
  readonly header: GgufHeader | null
  /** Why it cannot be used, to follow its name; null as far as anybody knows that it can. */
  readonly fault: string | null
}

/** For how long a look at the whole folder is believed, in milliseconds. */
const FRESH_MS = 2_000
const ENDING = /\.gguf$/i
/** As llama.cpp names the files of a model that is split. */
const SPLIT = /^(.*)-(\d{5})-of-(\d{5})$/
/** What only goes with the file of another model, such as what reads pictures for it. */
const COMPANION = 'clip'

const NO_MODEL = 'is no GGUF file, or damaged'
const NOT_READABLE = 'cannot be read'

type Read = Pick<LocalFile, 'header' | 'fault'>
type Known = Found & Read

export class LocalFiles {
  readonly #folder: string
  /** By path. */
  #known = new Map<string, Known>()
  #look: { readonly at: number; readonly files: Promise<LocalFile[]> } | null = null

  constructor(folder: string) {
    this.#folder = folder
  }

  /** In order of their names; none where there is no folder. @throws what the system throws */
  async list(): Promise<LocalFile[]> {
    const files = this.#list()
    const look = { at: performance.now(), files }
    this.#look = look
    files.catch(() => {
      if (this.#look === look) this.#look = null
    })
    return files
  }

  /** One of them as it is now. Callers who ask at once, or one after the other, share a look at the folder. @throws what the system throws */
  async find(name: string): Promise<LocalFile | null> {
    const shared = this.#look && performance.now() - this.#look.at < FRESH_MS ? this.#look.files : null
    if (shared) {
      const known = (await shared).find((file) => file.name === name)
      if (known && (await isSame(known))) return known
    }
    return (await this.list()).find((file) => file.name === name) ?? null
  }

  /** What nobody could tell from its header, until it is changed. */
  condemn({ path, size, changed_at }: LocalFile, fault: string): void {
    const known = this.#known.get(path)
    if (known) this.#known.set(path, { ...known, size, changed_at, fault })
    this.#look = null
  }

  async #list(): Promise<LocalFile[]> {
    const files: LocalFile[] = []
    const read = new Map<string, Known>()
    for (const [name, file] of modelsOf(await filesBelow(this.#folder, ENDING))) {
      const known = await this.#read(file)
      if (known.fault !== NOT_READABLE) read.set(file.path, known)
      const { header, fault } = known
      if (header?.architecture !== COMPANION) files.push({ ...file, name, header, fault })
    }
    this.#known = read
    return files.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  async #read(file: Found): Promise<Known> {
    const before = this.#known.get(file.path)
    if (before?.changed_at === file.changed_at && before.size === file.size) return before
    const read = await readGguf(file.path).then(
      (header): Read => ({ header, fault: null }),
      (error): Read => ({ header: null, fault: error instanceof NoGguf ? NO_MODEL : NOT_READABLE }),
    )
    return { ...file, ...read }
  }
}

async function isSame({ path, changed_at }: LocalFile): Promise<boolean> {
  const found = await stat(path).catch(() => null)
  return found?.mtimeMs === changed_at
}

interface Part {
  readonly at: number
  readonly file: Found
}

/**
 * By name. Files of one model count as one, by the first of them; where one is missing there is no model. Of several files with one name the
 * whole one goes before the one in parts, and the ending as it is usually written before others.
 */
function modelsOf(found: ReadonlyMap<string, Found>): Map<string, Found> {
  const models = new Map<string, Found>()
  const sets = new Map<string, { readonly stem: string; readonly count: number; readonly parts: Part[] }>()
  const usualFirst = [...found].sort(([a], [b]) => Number(b.endsWith('.gguf')) - Number(a.endsWith('.gguf')))
  for (const [path, file] of usualFirst) {
    const name = path.replace(ENDING, '')
    const [, stem, at, of] = SPLIT.exec(name) ?? []
    if (stem === undefined) {
      if (!models.has(name)) models.set(name, file)
      continue
    }
    const set = sets.get(`${stem}/${of}`) ?? { stem, count: Number(of), parts: [] }
    sets.set(`${stem}/${of}`, set)
    if (!set.parts.some((part) => part.at === Number(at))) set.parts.push({ at: Number(at), file })
  }
  for (const { stem, count, parts } of sets.values()) {
    const first = parts.find(({ at }) => at === 1)
    const whole = parts.length === count && parts.every(({ at }) => at >= 1 && at <= count)
    if (!first || !whole || models.has(stem)) continue
    models.set(stem, { ...first.file, size: parts.reduce((sum, { file }) => sum + file.size, 0) })
  }
  return models
}
