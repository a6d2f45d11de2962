// Checks of large media in results: the result refers to the file, and the reference is correct.
import { createHash } from 'node:crypto'
import { readCapabilities } from '../capabilities.ts'
import { CheckSkipped, expect } from '../check-outcomes.ts'
import { isTerminal, pollJobUntil, readHistory, startJob, storeSampleWorkflow } from '../job-actions.ts'
import { canonicalJson, isSameJson, type JsonMap, listOf, mapOf } from '../json.ts'
import type { SuiteContext } from '../suite-context.ts'
import { toEvidenceParts } from '../target-server.ts'

/** A complete image with one pixel. Additional bytes after it do not change it. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
/** The largest tested limit. A request has to hold more than that, in base64. */
const MAX_TRIED_BYTES = 1024 * 1024

interface LargeMedia {
  bytes: Buffer
  /** The image as base64, which must not appear in an answer. */
  text: string
  result: JsonMap
  events: JsonMap[]
}

/** Runs a job whose output holds an image just above the limit for inline media. */
function runWithLargeMedia(t: SuiteContext): Promise<LargeMedia> {
  return t.memoize('large media', async () => {
    const { max_inline_bytes } = mapOf((await readCapabilities(t)).limits)
    const limit = Number(max_inline_bytes)
    if (!(limit <= MAX_TRIED_BYTES)) throw new CheckSkipped(`media of ${limit} bytes are not tested`)
    const bytes = Buffer.concat([PIXEL, Buffer.alloc(Math.max(0, limit + 1 - PIXEL.length), 7)])
    const text = bytes.toString('base64')
    const inputs = { value: { pictures: [{ type: 'image', uri: `data:image/png;base64,${text}` }] } }
    const job_id = await startJob(t, await storeSampleWorkflow(t, 'anything'), inputs)
    const final = (await pollJobUntil(t, job_id, isTerminal)).at(-1)!
    expect(final.status === 'completed', 'a run with an image does not complete', {}, final.error)
    return { bytes, text, result: mapOf(final.result), events: await readHistory(t, job_id) }
  })
}

function findAssetBinding({ assets }: JsonMap): JsonMap | undefined {
  return listOf(assets)
    .map(mapOf)
    .find(({ output_name, path }) => output_name === 'value' && isSameJson(path, ['pictures', 0]))
}

export async function checkMediaByReference(t: SuiteContext): Promise<void> {
  const { text, bytes, result, events } = await runWithLargeMedia(t)
  const inline = canonicalJson([result, events]).includes(text.slice(0, 64))
  expect(
    !inline,
    `media of ${bytes.length} bytes is inline`,
    { bytes: bytes.length },
    { outputs: truncateOutputs(result) },
  )
  const bound = findAssetBinding(result)
  expect(bound !== undefined, 'no asset is bound to the position of the image', { path: ['pictures', 0] }, result)
  const [place] = listOf(mapOf(mapOf(result.outputs).value).pictures).map(mapOf)
  const { uri } = mapOf(bound.asset)
  expect(place?.uri === uri, 'the output refers to another file than its asset', { uri }, place)
}

function truncateOutputs({ outputs }: JsonMap): string {
  return canonicalJson(outputs).slice(0, 500)
}

/** The size, the digest and the type of a reference match the bytes of its file. */
export async function checkMediaReferences(t: SuiteContext): Promise<void> {
  const { bytes, result } = await runWithLargeMedia(t)
  const asset = mapOf(findAssetBinding(result)?.asset)
  const { uri, size, sha256, content_type, expires_at, asset_id } = asset
  expect(Boolean(asset_id) && typeof uri === 'string', 'the result has no reference with an id and a uri', {}, result)
  const digest = createHash('sha256').update(bytes).digest('hex')
  const told = (size === null || size === bytes.length) && (sha256 === null || sha256 === digest)
  expect(told, 'size or digest do not match the bytes', { size: bytes.length, sha256: digest }, asset)
  expect(content_type === 'image/png', 'the type does not match the bytes', {}, asset)
  const kept = expires_at === null || Date.parse(String(expires_at)) > Date.parse(String(result.completed_at))
  expect(kept, 'the reference expires before the job ends', { completed_at: result.completed_at }, asset)
  if (!t.hasOperation('getObject')) return
  const read = await t.target.send('GET', uri)
  const { request } = toEvidenceParts(read)
  expect(read.status === 200 && bytes.equals(read.bytes), 'the uri does not return the bytes', request, read.status)
}
