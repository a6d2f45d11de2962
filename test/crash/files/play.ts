// Changes files during one life of the server: stores, replaces and removes some, and reads others meanwhile, until the kill.
import { createHash } from 'node:crypto'
import type { StoredObject, TemporaryAssetUpload } from '../../../generated/types.ts'
import { PATIENCE_MS } from '../../helpers/patience.ts'
import { END, FORM_TYPE, partHead, UPLOADS } from '../../http/uploads-kit.ts'
import type { Life } from '../life.ts'
import type { Random } from '../random.ts'
import { type Content, contentOf, named } from './content.ts'
import { keepAssets } from './librarian.ts'
import { look, lookAfterKill, pathOf } from './looks.ts'
import type { Register } from './register.ts'
import { cut, send } from './send.ts'
import type { Shelf } from './shelf.ts'
import type { Sent, Told } from './transfer.ts'

/** Each player has its own files, but two of them share one file. */
const WRITERS = 3

/** Milliseconds between two actions of a player. */
const PAUSE_MS = [20, 80] as const
/** Temporary uploads stay for a day, so their number grows. */
const UPLOAD_PAUSE_MS = 100

/**
 * Reads what the last life has left, and then changes files beside the jobs. Resolves after some files were stored and read, and some
 * assets changed. An earlier kill would find no file action to interrupt.
 */
export function openFiles(life: Life, shelf: Shelf, random: Random): () => Promise<unknown> {
  const before = doneSoFar(shelf)
  life.spawn('the files', async () => {
    await lookAfterKill(life.server.url, shelf, () => life.over)
    playFiles(life, shelf, random)
  })
  const deadline = performance.now() + PATIENCE_MS
  const enough = () => doneSoFar(shelf).every((count, at) => count - before[at]! >= LEAST_DONE[at]!)
  return () => life.until(() => enough() || performance.now() > deadline)
}

/** The fewest actions of each kind in a life. */
const LEAST_DONE = [1, 1, 3]

function doneSoFar({ ways, librarian }: Shelf): readonly number[] {
  return [ways['a file was stored'], ways['a file was read while others were stored'], librarian]
}

function playFiles(life: Life, shelf: Shelf, random: Random): void {
  const [shared, ...own] = shelf.registers
  for (let at = 0; at < WRITERS; at += 1) {
    const some = own.filter((_, place) => place % WRITERS === at)
    const reached = at === 0 ? some : [shared!, ...some]
    again(life, `writer ${at}`, random.fork(`writer ${at}`), (dice) => write(life, shelf, dice.pick(reached), dice))
  }
  again(life, 'the reader', random.fork('reader'), (dice) => read(life, shelf, dice))
  again(life, 'the librarian', random.fork('librarian'), async (dice) => {
    await keepAssets(life, shelf, dice)
    shelf.librarian++
  })
  again(life, 'the uploader', random.fork('uploader'), (dice) => upload(life, shelf, dice))
}

function again(life: Life, who: string, dice: Random, work: (dice: Random) => Promise<void>): void {
  life.spawn(who, async () => {
    while (!life.over) {
      await work(dice)
      await life.pause(dice.int(...PAUSE_MS))
    }
  })
}

async function write(life: Life, shelf: Shelf, register: Register, dice: Random): Promise<void> {
  const turn = shelf.turn()
  if (turn === 'remove') return remove(life, shelf, register)
  if (turn === 'refuse') return refuse(life, shelf, register, dice)
  const content = shelf.draw()
  const since = shelf.tick()
  const write = register.begin(content)
  const told = await send(life, putting(life, register, content, dice))
  register.end(write, told?.status === 200 || told?.status === 201)
  if (!told) return void shelf.ways['storing a file was cut off']++
  judgeStored(shelf, register.key, { content, told, before: register.possible(since, write) })
}

async function remove(life: Life, shelf: Shelf, register: Register): Promise<void> {
  const write = register.begin(null)
  const told = await send(life, { method: 'DELETE', path: pathOf(register) })
  register.end(write, told?.status === 204)
  if (told?.status === 204) shelf.ways['a file was removed']++
  else if (told) shelf.find('contradiction', `the removal of ${register.key} is answered with ${told.status}`)
}

/** Sends bytes with the digest of other bytes, which must have no effect. */
async function refuse(life: Life, shelf: Shelf, register: Register, dice: Random): Promise<void> {
  const bytes = contentOf(`wrong ${dice.next()}`, dice.int(1, 100_000))
  const { sha256 } = contentOf('another', 1)
  const told = await send(life, putting(life, register, { ...bytes, sha256 }, dice, true))
  if (told?.status === 400) shelf.ways['a file was refused for its digest']++
  else if (told) shelf.find('contradiction', `a wrong digest for ${register.key} is answered with ${told.status}`)
}

async function read(life: Life, shelf: Shelf, dice: Random): Promise<void> {
  const first = dice.int(0, 40_000)
  const part = dice.chance(0.5) ? { first, last: first + dice.int(0, 100_000) } : null
  const register = dice.pick(shelf.registers)
  const whole = await look(life.server.url, shelf, register, part)
  if (!whole && !life.over) shelf.find('loss', `${register.key} was cut off by a server that lives`)
}

async function upload(life: Life, shelf: Shelf, dice: Random): Promise<void> {
  // A request without bytes would be refused.
  const [seed, size] = [`upload ${dice.next()}`, dice.int(1, dice.chance(0.3) ? 400_000 : 30_000)]
  const { bytes } = contentOf(seed, size)
  const body = Buffer.concat([Buffer.from(partHead()), bytes, Buffer.from(END)])
  const headers = { 'Content-Type': FORM_TYPE, 'Content-Length': body.length }
  const told = await send(life, { method: 'POST', path: UPLOADS, headers, pieces: cut(life, body, dice) })
  if (!told) return
  const text = told.bytes.toString()
  if (told.status !== 201) return shelf.find('contradiction', `an upload is answered with ${told.status}: ${text}`)
  const taken = JSON.parse(text) as TemporaryAssetUpload
  if (taken.size !== size) shelf.find('contradiction', `an upload of ${size} bytes was taken as ${taken.size}`)
  shelf.uploads.push({ uri: taken.uri, seed, size })
  await life.pause(UPLOAD_PAUSE_MS)
}

function putting(life: Life, register: Register, { bytes, sha256 }: Content, dice: Random, told = false): Sent {
  const headers: Record<string, string | number> = { 'Content-Length': bytes.length }
  if (told || dice.chance(0.3)) headers['x-checksum-sha256'] = sha256
  if (!told && dice.chance(0.2)) headers['Content-MD5'] = createHash('md5').update(bytes).digest('base64')
  return { method: 'PUT', path: pathOf(register), headers, pieces: cut(life, bytes, dice) }
}

interface Stored {
  readonly content: Content
  readonly told: Told
  /** The contents that may have existed before. */
  readonly before: readonly (Content | null)[]
}

function judgeStored(shelf: Shelf, key: string, { content, told, before }: Stored): void {
  const text = told.bytes.toString()
  if (told.status !== 200 && told.status !== 201)
    return shelf.find('contradiction', `${key} could not be stored: ${told.status} ${text.slice(0, 300)}`)
  shelf.ways['a file was stored']++
  const { sha256, size } = JSON.parse(text) as StoredObject
  if (sha256 !== content.sha256 || size !== content.bytes.length)
    shelf.find('contradiction', `${key} was given ${named(content)} and has taken ${sha256} (${size} bytes)`)
  const fits = told.status === 201 ? before.includes(null) : before.some((one) => one !== null)
  if (!fits) shelf.find('contradiction', `${key} was there or not before, and its answer says ${told.status}`)
}
