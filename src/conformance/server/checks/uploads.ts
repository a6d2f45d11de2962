// Temporary uploads.
import { capabilities } from '../capabilities.ts'
import { multipart } from '../forms.ts'
import { mapOf, same } from '../json.ts'
import { type Asked, clockOf, shown } from '../target.ts'
import type { Trial } from '../trial.ts'
import { expect, Findings, Skip } from '../verdicts.ts'
import type { ChecksOf } from './check.ts'

const BYTES = Buffer.from('conformance, line one\r\n--no boundary\r\n\r\nthe last line without an end')

export const uploadChecks: ChecksOf<'uploads'> = {
  'server.uploads.resolvable': async (t) => {
    t.needs('uploadTemporaryAsset')
    const answer = await t.good('uploadTemporaryAsset', 201, {}, multipart([['file', 'notes.txt', BYTES]]))
    const { uri, name, size, content_type } = mapOf(answer.body)
    const told = name === 'notes.txt' && size === BYTES.length && String(content_type).startsWith('text/plain')
    expect(told, 'name, size or content type are not what was sent', { bytes: BYTES.length }, answer.body)
    expect(String(uri).startsWith('/api/storage/'), 'the uri is not under /api/storage/', {}, answer.body)
    if (!t.serves('getObject')) return
    const read = await t.target.send('GET', String(uri))
    const equal = read.status === 200 && BYTES.equals(read.bytes)
    expect(
      equal,
      'the uri does not read as the bytes that were sent',
      { uri },
      { status: read.status, text: read.text },
    )
  },
  'server.uploads.no-trace': async (t) => {
    t.needs('uploadTemporaryAsset', 'listAssets')
    const listed = async () => mapOf((await t.good('listAssets', 200)).body).assets
    const before = await listed()
    await t.good('uploadTemporaryAsset', 201, {}, multipart([['file', 'traceless.txt', BYTES]]))
    const after = await listed()
    expect(same(before, after), 'the list of assets has changed by an upload', before, after)
  },
  'server.uploads.bad-parts': async (t) => {
    t.needs('uploadTemporaryAsset')
    const findings = new Findings()
    const cases: [string, Asked][] = [
      ['a missing part', multipart([])],
      [
        'a doubled part',
        multipart([
          ['file', 'a.txt', BYTES],
          ['file', 'b.txt', BYTES],
        ]),
      ],
      ['a misnamed part', multipart([['data', 'a.txt', BYTES]])],
      ['an empty part', multipart([['file', 'a.txt', Buffer.alloc(0)]])],
      ['a form that is cut off', cutOff(multipart([['file', 'a.txt', BYTES]]))],
    ]
    for (const [what, asked] of cases) {
      const answer = await t.call('uploadTemporaryAsset', {}, asked)
      findings.see(answer.status === 400, () => ({ finding: `${what} is ${answer.status}, not 400`, ...shown(answer) }))
    }
    findings.settle('')
  },
  'server.uploads.size-limit': sizeLimit,
  'server.uploads.expiry': async (t) => {
    t.needs('uploadTemporaryAsset')
    const answer = await t.good('uploadTemporaryAsset', 201, {}, multipart([['file', 'kept.txt', BYTES]]))
    const { expires_at } = mapOf(answer.body)
    const later = Date.parse(String(expires_at)) > (clockOf(answer) ?? Date.now())
    expect(later, 'a file has expired as soon as it is stored', { date: answer.headers.date }, answer.body)
  },
  'server.uploads.content-type': async (t) => {
    t.needs('uploadTemporaryAsset')
    const answer = await t.call('uploadTemporaryAsset', {}, { json: { file: 'x' } })
    const { request, answer: got } = shown(answer)
    expect(answer.status === 415, `a JSON body is ${answer.status}, not 415`, request, got)
  },
}

/** The form without its last delimiter; the request itself is whole. */
function cutOff({ raw, content_type }: Asked): Asked {
  return { raw: (raw as Buffer).subarray(0, -40), content_type }
}

/** The largest limit that is tried. */
const LARGEST = 8 * 1024 * 1024

async function sizeLimit(t: Trial): Promise<void> {
  t.needs('uploadTemporaryAsset')
  const limit = Number(mapOf((await capabilities(t)).limits).max_upload_bytes)
  if (!(limit <= LARGEST)) throw new Skip(`files of ${limit} bytes are not tried`)
  await t.good('uploadTemporaryAsset', 201, {}, multipart([['file', 'most.txt', Buffer.alloc(limit, 'a')]]))
  const answer = await t.call(
    'uploadTemporaryAsset',
    {},
    multipart([['file', 'more.txt', Buffer.alloc(limit + 1, 'a')]]),
  )
  const { answer: got } = shown(answer)
  const right = answer.status === 413 && mapOf(answer.body).code === 'UPLOAD_TOO_LARGE'
  expect(right, `a file of ${limit + 1} bytes is no 413 UPLOAD_TOO_LARGE`, { max_upload_bytes: limit }, got)
}
