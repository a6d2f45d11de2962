// Changes assets during one life of the server, one change at a time, and checks all of them between changes.
import type { Asset, AssetPage } from '../../../generated/types.ts'
import { END, FORM_TYPE, partHead } from '../../http/uploads-kit.ts'
import type { Life } from '../life.ts'
import type { Random } from '../random.ts'
import type { Content } from './content.ts'
import { judgeLook } from './judge.ts'
import { FOLDER, judgeList, type Slot } from './library.ts'
import { cut, send } from './send.ts'
import type { Shelf } from './shelf.ts'
import { exchange } from './transfer.ts'

const ASSETS = '/api/assets'
const PAGE = 200

interface Making {
  readonly slot: Slot
  readonly content: Content
  /** The members besides the name. */
  readonly fields: Readonly<Record<string, string>>
}

/** Makes the next change: creates, replaces and then removes a top-level asset, or changes a folder. */
export async function keepAssets(life: Life, shelf: Shelf, dice: Random): Promise<void> {
  const { assets } = shelf
  if (assets.forBox()) return fillBox(life, shelf, dice)
  const slot = dice.pick(assets.slots)
  if (slot.id !== null && slot.replaced) {
    slot.replaced = false
    return remove(life, shelf, [slot], 'an asset was removed')
  }
  const fields: Record<string, string> = slot.id === null ? {} : { replaces: slot.id }
  slot.replaced = slot.id !== null
  const way = slot.replaced ? 'an asset was replaced' : 'an asset was made'
  if (await make(life, shelf, dice, { slot, content: shelf.draw(), fields })) shelf.ways[way]++
}

/** Creates a folder, or another asset in it. Removes a full folder. */
async function fillBox(life: Life, shelf: Shelf, dice: Random): Promise<void> {
  const { assets } = shelf
  const { slot, inside } = assets.boxes.find((box) => !box.gone) ?? assets.newBox()
  const next = inside.find(({ made }) => !made)
  if (slot.id === null) {
    await make(life, shelf, dice, { slot, content: FOLDER, fields: { content_type: 'folder' } })
  } else if (next && next.id === null) {
    await make(life, shelf, dice, { slot: next, content: shelf.draw(), fields: { parent_id: slot.id } })
  } else {
    await remove(life, shelf, [slot, ...inside], 'a folder was removed with what it held')
  }
}

/** Whether the change was acknowledged. */
async function make(life: Life, shelf: Shelf, dice: Random, { slot, content, fields }: Making): Promise<boolean> {
  const given = { name: slot.name, ...fields }
  const heads = Object.entries(given).map(([name, value]) => `${partHead(`name="${name}"`, '')}${value}\r\n`)
  const file = partHead('name="file"; filename="any.bin"', 'Content-Type: application/octet-stream\r\n')
  const [before, after] = [Buffer.from(heads.join('') + (content === FOLDER ? '' : file)), Buffer.from(END)]
  const body = Buffer.concat([before, content.bytes, content === FOLDER ? after.subarray(2) : after])
  const headers = { 'Content-Type': FORM_TYPE, 'Content-Length': body.length }
  const write = slot.register.begin(content)
  const told = await send(life, { method: 'POST', path: ASSETS, headers, pieces: cut(life, body, dice) })
  slot.register.end(write, told?.status === 201)
  if (!told) return false
  const text = told.bytes.toString()
  if (told.status !== 201) {
    shelf.find('contradiction', `${slot.name} could not be made: ${told.status} ${text.slice(0, 300)}`)
    return false
  }
  const { id, sha256, name } = JSON.parse(text) as Asset
  if ((sha256 ?? '') !== content.sha256 || name !== slot.name)
    shelf.find('contradiction', `${slot.name} was made as ${name} with ${sha256}`)
  Object.assign(slot, { id, made: true })
  return true
}

/** Removes the first asset, and the others with it. */
async function remove(
  life: Life,
  shelf: Shelf,
  slots: readonly Slot[],
  way: 'an asset was removed' | 'a folder was removed with what it held',
): Promise<void> {
  const writes = slots.map(({ register }) => [register, register.begin(null)] as const)
  const told = await send(life, { method: 'DELETE', path: `${ASSETS}/${slots[0]!.id}` })
  for (const [register, write] of writes) register.end(write, told?.status === 204)
  if (!told) return
  if (told.status !== 204)
    return shelf.find('contradiction', `the removal of ${slots[0]!.name} is answered with ${told.status}`)
  for (const slot of slots) slot.id = null
  shelf.ways[way]++
}

/** Checks all listed assets that no job has saved, and their bytes. No other change may happen to these assets meanwhile. */
export async function lookAtAssets(url: string, shelf: Shelf): Promise<void> {
  const { assets } = shelf
  const own = (await listAssets(url)).filter(({ job_id }) => job_id === null)
  for (const what of judgeList(assets, own, shelf.tick)) shelf.find('loss', what)
  for (const { id, name, register } of assets.all) {
    const possible = register.possible(shelf.tick())
    if (id === null || possible.includes(FOLDER)) continue
    const told = await exchange(url, { method: 'GET', path: `${ASSETS}/${id}/download` })
    const found = judgeLook({ what: name, possible, part: null, told })
    if ('fault' in found) shelf.faults.push(found.fault)
    else shelf.ways['an asset was there after a kill']++
  }
  assets.boxes = assets.boxes.filter((box) => !box.gone)
}

export async function listAssets(url: string): Promise<Asset[]> {
  const all: Asset[] = []
  for (let cursor = ''; ; ) {
    const told = await exchange(url, { method: 'GET', path: `${ASSETS}?page_size=${PAGE}${cursor}` })
    if (told.status !== 200 || !told.whole) throw new Error(`the assets are answered with ${told.status}`)
    const { assets, next } = JSON.parse(told.bytes.toString()) as AssetPage
    all.push(...assets)
    if (next === null) return all
    cursor = `&cursor=${encodeURIComponent(next)}`
  }
}
