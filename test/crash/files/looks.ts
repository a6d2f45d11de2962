// Reads files of a server, whole and in parts, during changes, and all of them while nothing changes.
import { contentOf } from './content.ts'
import { judgeLook, type Part } from './judge.ts'
import { lookAtAssets } from './librarian.ts'
import type { Register } from './register.ts'
import type { Shelf, Upload } from './shelf.ts'
import { exchange, type Told } from './transfer.ts'

/** The number of concurrent reads. */
const AT_ONCE = 4

/** The number of temporary uploads that are read after a kill: the first and the latest ones. */
const EARLIEST = 2
const LATEST = 8

export function pathOf({ key }: Register): string {
  return `/api/storage/${key}`
}

/** Reads one file during changes. Returns whether the read came to its end. @throws where the server gives no answer */
export async function look(url: string, shelf: Shelf, register: Register, part: Part | null): Promise<boolean> {
  const since = shelf.tick()
  const told = await read(url, pathOf(register), part)
  const found = judgeLook({ what: register.key, possible: register.possible(since), part, told })
  if ('fault' in found) shelf.faults.push(found.fault)
  else if (found.content) shelf.ways['a file was read while others were stored']++
  return told.whole
}

/** Reads the files of a server that has just started, before any change. `over`: whether it is being killed again. */
export async function lookAfterKill(url: string, shelf: Shelf, over: () => boolean): Promise<void> {
  await lookAtAll(url, shelf, { over })
  await lookAtAssets(url, shelf)
  const { uploads } = shelf
  await lookAtUploads(url, shelf, [...uploads.slice(0, EARLIEST), ...uploads.slice(EARLIEST).slice(-LATEST)])
}

interface Circumstances {
  /** Whether the day of temporary files is over. */
  readonly gone?: boolean
  readonly over?: () => boolean
}

/** Reads every file while nothing changes. The found contents are then the known ones. */
export async function lookAtAll(url: string, shelf: Shelf, { gone = false, over }: Circumstances = {}): Promise<void> {
  await each(shelf.registers, async (register) => {
    const possible = gone && register.passing ? [null] : register.possible(shelf.tick())
    const told = await read(url, pathOf(register), null)
    const found = judgeLook({ what: register.key, possible, part: null, told })
    if ('fault' in found) return void shelf.faults.push(found.fault)
    if (!told.whole && !over?.()) shelf.find('loss', `${register.key} was cut off by a server that lives`)
    register.settle(found.content)
    if (register.touched && !gone)
      shelf.ways[found.content ? 'a file was there after a kill' : 'a removed file stayed gone after a kill']++
  })
}

/** Reads temporary uploads. `gone`: their day is over. */
export async function lookAtUploads(url: string, shelf: Shelf, some: readonly Upload[], gone = false): Promise<void> {
  await each(some, async ({ uri, seed, size }) => {
    const content = gone ? null : contentOf(seed, size)
    const told = await read(url, uri, null)
    const found = judgeLook({ what: uri, possible: [content], part: null, told })
    if ('fault' in found) shelf.faults.push(found.fault)
    else if (!gone) shelf.ways['a temporary upload was there after a kill']++
  })
}

function read(url: string, path: string, part: Part | null): Promise<Told> {
  return exchange(url, { method: 'GET', path, ...(part && { headers: { Range: `bytes=${part.first}-${part.last}` } }) })
}

async function each<T>(list: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const left = [...list]
  const worker = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await work(one)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}
