// Temporary uploads.
import { readCapabilities } from '../capabilities.ts'
import { CheckFindings, CheckSkipped, expect } from '../check-outcomes.ts'
import { isSameJson, mapOf } from '../json.ts'
import { createMultipartForm } from '../multipart-form.ts'
import type { SuiteContext } from '../suite-context.ts'
import { readServerTime, type SuiteRequest, toEvidenceParts } from '../target-server.ts'
import type { AreaChecks } from './check-types.ts'

const UPLOADED_BYTES = Buffer.from('conformance, line one\r\n--no boundary\r\n\r\nthe last line without an end')

export const uploadChecks: AreaChecks<'uploads'> = {
  'server.uploads.resolvable': async (t) => {
    t.requireOperations('uploadTemporaryAsset')
    const answer = await t.callExpecting(
      'uploadTemporaryAsset',
      201,
      {},
      createMultipartForm([['file', 'notes.txt', UPLOADED_BYTES]]),
    )
    const { uri, name, size, content_type } = mapOf(answer.body)
    const told = name === 'notes.txt' && size === UPLOADED_BYTES.length && String(content_type).startsWith('text/plain')
    expect(told, 'name, size or content type differ from the request', { bytes: UPLOADED_BYTES.length }, answer.body)
    expect(String(uri).startsWith('/api/storage/'), 'the uri is not under /api/storage/', {}, answer.body)
    if (!t.hasOperation('getObject')) return
    const read = await t.target.send('GET', String(uri))
    const equal = read.status === 200 && UPLOADED_BYTES.equals(read.bytes)
    expect(equal, 'the uri does not return the bytes that were sent', { uri }, { status: read.status, text: read.text })
  },
  'server.uploads.no-trace': async (t) => {
    t.requireOperations('uploadTemporaryAsset', 'listAssets')
    const listed = async () => mapOf((await t.callExpecting('listAssets', 200)).body).assets
    const before = await listed()
    await t.callExpecting(
      'uploadTemporaryAsset',
      201,
      {},
      createMultipartForm([['file', 'traceless.txt', UPLOADED_BYTES]]),
    )
    const after = await listed()
    expect(isSameJson(before, after), 'an upload changes the list of assets', before, after)
  },
  'server.uploads.bad-parts': async (t) => {
    t.requireOperations('uploadTemporaryAsset')
    const findings = new CheckFindings()
    const cases: [string, SuiteRequest][] = [
      ['a missing part', createMultipartForm([])],
      [
        'a doubled part',
        createMultipartForm([
          ['file', 'a.txt', UPLOADED_BYTES],
          ['file', 'b.txt', UPLOADED_BYTES],
        ]),
      ],
      ['a misnamed part', createMultipartForm([['data', 'a.txt', UPLOADED_BYTES]])],
      ['an empty part', createMultipartForm([['file', 'a.txt', Buffer.alloc(0)]])],
      ['a form that is cut off', truncateForm(createMultipartForm([['file', 'a.txt', UPLOADED_BYTES]]))],
    ]
    for (const [what, asked] of cases) {
      const answer = await t.call('uploadTemporaryAsset', {}, asked)
      findings.addCase(answer.status === 400, () => ({
        finding: `${what} is answered with ${answer.status}, not 400`,
        ...toEvidenceParts(answer),
      }))
    }
    findings.throwIfBroken('')
  },
  'server.uploads.size-limit': checkSizeLimit,
  'server.uploads.expiry': async (t) => {
    t.requireOperations('uploadTemporaryAsset')
    const answer = await t.callExpecting(
      'uploadTemporaryAsset',
      201,
      {},
      createMultipartForm([['file', 'kept.txt', UPLOADED_BYTES]]),
    )
    const { expires_at } = mapOf(answer.body)
    const later = Date.parse(String(expires_at)) > (readServerTime(answer) ?? Date.now())
    expect(later, 'a file expires as soon as it is stored', { date: answer.headers.date }, answer.body)
  },
  'server.uploads.content-type': async (t) => {
    t.requireOperations('uploadTemporaryAsset')
    const answer = await t.call('uploadTemporaryAsset', {}, { json: { file: 'x' } })
    const { request, answer: got } = toEvidenceParts(answer)
    expect(answer.status === 415, `a JSON body is answered with ${answer.status}, not 415`, request, got)
  },
}

/** Removes the last delimiter of the form. The request itself is complete. */
function truncateForm({ raw, content_type }: SuiteRequest): SuiteRequest {
  return { raw: (raw as Buffer).subarray(0, -40), content_type }
}

/** The largest tested limit. */
const MAX_TRIED_BYTES = 8 * 1024 * 1024

async function checkSizeLimit(t: SuiteContext): Promise<void> {
  t.requireOperations('uploadTemporaryAsset')
  const limit = Number(mapOf((await readCapabilities(t)).limits).max_upload_bytes)
  if (!(limit <= MAX_TRIED_BYTES)) throw new CheckSkipped(`files of ${limit} bytes are not tested`)
  await t.callExpecting(
    'uploadTemporaryAsset',
    201,
    {},
    createMultipartForm([['file', 'most.txt', Buffer.alloc(limit, 'a')]]),
  )
  const answer = await t.call(
    'uploadTemporaryAsset',
    {},
    createMultipartForm([['file', 'more.txt', Buffer.alloc(limit + 1, 'a')]]),
  )
  const { answer: got } = toEvidenceParts(answer)
  const right = answer.status === 413 && mapOf(answer.body).code === 'UPLOAD_TOO_LARGE'
  expect(
    right,
    `a file of ${limit + 1} bytes is not answered with 413 UPLOAD_TOO_LARGE`,
    { max_upload_bytes: limit },
    got,
  )
}
