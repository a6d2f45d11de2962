// The files of models in the models folder: `owner/name/file.gguf` is the model `owner/name/file`. What begins with a dot is none, so that
// what is only partly there is never seen, and neither is what a link leads to out of the folder, or in a linked folder.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type ScannedFile, scanFolder } from './folder-scan.ts'
import { type GgufHeader, NotGgufError, readGgufHeader } from './gguf-header.ts'

/** Where files of models are, unless the settings say otherwise. */
export function resolveModelsFolder(config: { readonly models_dir: string | null; readonly data_dir: string }): string {
  return config.models_dir ?? join(config.data_dir, 'models')
}

export interface LocalModelFile {
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
const GGUF_EXTENSION = /\.gguf$/i
/** As llama.cpp names the files of a model that is split. */
const SPLIT_FILE_NAME = /^(.*)-(\d{5})-of-(\d{5})$/
/** What only goes with the file of another model, such as what reads pictures for it. */
const COMPANION_ARCHITECTURE = 'clip'

const NOT_A_MODEL_FAULT = 'is no GGUF file, or damaged'
const NOT_READABLE_FAULT = 'cannot be read'

type HeaderResult = Pick<LocalModelFile, 'header' | 'fault'>
type KnownFile = ScannedFile & HeaderResult

export class LocalModelFiles {
  readonly #folder: string
  /** By path. */
  #knownFiles = new Map<string, KnownFile>()
  #recentScan: { readonly at: number; readonly files: Promise<LocalModelFile[]> } | null = null

  constructor(folder: string) {
    this.#folder = folder
  }

  /** In order of their names; none where there is no folder. @throws what the system throws */
  async list(): Promise<LocalModelFile[]> {
    const files = this.#scanFiles()
    const look = { at: performance.now(), files }
    this.#recentScan = look
    files.catch(() => {
      if (this.#recentScan === look) this.#recentScan = null
    })
    return files
  }

  /** One of them as it is now. Callers who ask at once, or one after the other, share a look at the folder. @throws what the system throws */
  async find(name: string): Promise<LocalModelFile | null> {
    const shared =
      this.#recentScan && performance.now() - this.#recentScan.at < FRESH_MS ? this.#recentScan.files : null
    if (shared) {
      const known = (await shared).find((file) => file.name === name)
      if (known && (await isUnchanged(known))) return known
    }
    return (await this.list()).find((file) => file.name === name) ?? null
  }

  /** What nobody could tell from its header, until it is changed. */
  markFaulty({ path, size, changed_at }: LocalModelFile, fault: string): void {
    const known = this.#knownFiles.get(path)
    if (known) this.#knownFiles.set(path, { ...known, size, changed_at, fault })
    this.#recentScan = null
  }

  async #scanFiles(): Promise<LocalModelFile[]> {
    const files: LocalModelFile[] = []
    const read = new Map<string, KnownFile>()
    for (const [name, file] of groupByModel(await scanFolder(this.#folder, GGUF_EXTENSION))) {
      const known = await this.#readHeader(file)
      if (known.fault !== NOT_READABLE_FAULT) read.set(file.path, known)
      const { header, fault } = known
      if (header?.architecture !== COMPANION_ARCHITECTURE) files.push({ ...file, name, header, fault })
    }
    this.#knownFiles = read
    return files.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  async #readHeader(file: ScannedFile): Promise<KnownFile> {
    const before = this.#knownFiles.get(file.path)
    if (before?.changed_at === file.changed_at && before.size === file.size) return before
    const read = await readGgufHeader(file.path).then(
      (header): HeaderResult => ({ header, fault: null }),
      (error): HeaderResult => ({
        header: null,
        fault: error instanceof NotGgufError ? NOT_A_MODEL_FAULT : NOT_READABLE_FAULT,
      }),
    )
    return { ...file, ...read }
  }
}

async function isUnchanged({ path, changed_at }: LocalModelFile): Promise<boolean> {
  const found = await stat(path).catch(() => null)
  return found?.mtimeMs === changed_at
}

interface FilePart {
  readonly at: number
  readonly file: ScannedFile
}

/**
 * By name. Files of one model count as one, by the first of them; where one is missing there is no model. Of several files with one name the
 * whole one goes before the one in parts, and the ending as it is usually written before others.
 */
function groupByModel(found: ReadonlyMap<string, ScannedFile>): Map<string, ScannedFile> {
  const models = new Map<string, ScannedFile>()
  const sets = new Map<string, { readonly stem: string; readonly count: number; readonly parts: FilePart[] }>()
  const usualFirst = [...found].sort(([a], [b]) => Number(b.endsWith('.gguf')) - Number(a.endsWith('.gguf')))
  for (const [path, file] of usualFirst) {
    const name = path.replace(GGUF_EXTENSION, '')
    const [, stem, at, of] = SPLIT_FILE_NAME.exec(name) ?? []
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
