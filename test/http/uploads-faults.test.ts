// Faults of uploads, each with its error; none leaves anything behind.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../../src/config.ts'
import { call, type ErrorBody, refused } from '../helpers/http.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { peer } from './peer.ts'
import { BOUNDARY, END, FORM_TYPE, fileForm, partHead, temporaryFiles, UPLOADS } from './uploads-kit.ts'

const form = (raw: string, type: string | null = FORM_TYPE) => ({
  raw,
  headers: (type === null ? {} : { 'Content-Type': type }) as Record<string, string>,
})
const NOTE = `${partHead()}Hello`
const FIELD = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="note"\r\n\r\ntext`
/** As in a mail: the parser skips such a part. */
const ATTACHED = `--${BOUNDARY}\r\nContent-Disposition: attachment; name="file"; filename="b.txt"\r\n\r\n`
const again = (head: string) => `${NOTE}\r\n${head}again${END}`

/** The request, and the path of its problem. */
const FAULTS: Readonly<Record<string, [request: ReturnType<typeof form>, path: string]>> = {
  'no part at all': [form(`--${BOUNDARY}--\r\n`), '/body/file'],
  'no body at all': [form(''), '/body'],
  'no bytes': [fileForm(''), '/body/file'],
  'no bytes and no name, as a form without a choice': [
    fileForm('', 'name="file"; filename=""', 'Content-Type: application/octet-stream\r\n'),
    '/body/file',
  ],
  'the file twice': [form(again(partHead())), '/body/file'],
  'another name': [fileForm('x', 'name="File"; filename="a.txt"'), '/body'],
  'no name': [fileForm('x', 'filename="a.txt"'), '/body'],
  'no filename': [fileForm('x', 'name="file"'), '/body'],
  'another file besides': [form(again(partHead('name="other"; filename="b.txt"'))), '/body'],
  'the file again, labelled as something else': [form(again(ATTACHED)), '/body'],
  'the file again, labelled as nothing': [form(again(`--${BOUNDARY}\r\nX: y\r\n\r\n`)), '/body'],
  'something else before': [form(`${ATTACHED}before\r\n${NOTE}${END}`), '/body'],
  'a line that begins as the boundary does': [form(`${NOTE}\r\n--${BOUNDARY}ies${END}`), '/body'],
  'a field before': [form(`${FIELD}\r\n${NOTE}${END}`), '/body'],
  'a field behind': [form(`${NOTE}\r\n${FIELD}${END}`), '/body'],
  'a part that is labelled as nothing': [form(`--${BOUNDARY}\r\nX: y\r\n\r\nx${END}`), '/body/file'],
  'parts within the part': [
    fileForm('--in\r\n\r\nx\r\n--in--', undefined, 'Content-Type: multipart/mixed; boundary=in\r\n'),
    '/body/file',
  ],
  'parts without a filename within the part': [
    fileForm('--in\r\n\r\nx\r\n--in--', 'name="file"', 'Content-Type: multipart/mixed; boundary=in\r\n'),
    '/body',
  ],
  'encoded bytes': [fileForm('SGk=', undefined, 'Content-Transfer-Encoding: base64\r\n'), '/body/file'],
  'no last boundary': [form(`${NOTE}\r\n`), '/body'],
  'an end in the middle of a head': [form(`${NOTE}\r\n--${BOUNDARY}\r\nContent-Dispo`), '/body'],
  'heads that never end': [form(`--${BOUNDARY}\r\n${'X-Bomb: y\r\n'.repeat(2_000)}`), '/body'],
  'one head that never ends': [form(`--${BOUNDARY}\r\nX: ${'y'.repeat(20_000)}`), '/body'],
  'a head that is none': [form(`--${BOUNDARY}\r\n\u0001\u0002\r\n\r\nx${END}`), '/body'],
  'another boundary in the body': [form(`${NOTE}${END}`.replaceAll(BOUNDARY, 'another')), '/body'],
  'no boundary in the header': [form(`${NOTE}${END}`, 'multipart/form-data'), '/headers/content-type'],
  'an empty boundary': [form(`${NOTE}${END}`, 'multipart/form-data; boundary='), '/headers/content-type'],
  'half a header': [form(`${NOTE}${END}`, 'multipart/form-data; boundary="'), '/headers/content-type'],
  'a query': [fileForm('x'), '/query/name'],
}

const limited = (max_upload_bytes: number): { config: Partial<Config> } => ({ config: { max_upload_bytes } })

describe('an upload with', () => {
  let server: TestServer
  before(async () => {
    server = await startServer()
  })
  after(() => server[Symbol.asyncDispose]())

  /** Asserts that the request is refused with this error, leaves nothing behind, and the next request is accepted. */
  async function traceless(
    request: ReturnType<typeof form>,
    path: string,
    expected: [number, string],
    paths: string[],
  ) {
    const before = temporaryFiles(server)
    assert.deepEqual(await refused(server, 'POST', path, request, expected), paths)
    await until('nothing to be left', () => isDeepStrictEqual(temporaryFiles(server), before))
    assert.equal((await call(server, 'POST', UPLOADS, fileForm('the next one'))).status, 201)
  }

  for (const [what, [request, path]] of Object.entries(FAULTS)) {
    const at = what === 'a query' ? `${UPLOADS}?name=x` : UPLOADS
    test(`${what} is refused, and nothing is stored`, () => traceless(request, at, [400, 'invalid_request'], [path]))
  }

  const encoded = { ...fileForm('x'), headers: { 'Content-Type': FORM_TYPE, 'Content-Encoding': 'gzip' } }
  for (const [what, request] of Object.entries({
    'no content type': form(`${NOTE}${END}`, null),
    'JSON for a content type': form(`${NOTE}${END}`, 'application/json'),
    'another kind of multipart': form(`${NOTE}${END}`, `multipart/mixed; boundary=${BOUNDARY}`),
    'garbage for a content type': form(`${NOTE}${END}`, ';;='),
    'an encoding of the whole body': encoded,
  })) {
    test(`${what} is refused before any other check`, () =>
      traceless(request, `${UPLOADS}?name=x`, [415, 'unsupported_media_type'], []))
  }
})

describe('an upload that is too large', () => {
  test('by one byte is refused, and an upload of the exact limit is stored', async () => {
    await using server = await startServer(limited(1_000))
    const answer = await call<ErrorBody>(server, 'POST', UPLOADS, fileForm('x'.repeat(1_001)))
    assert.equal(answer.status, 413)
    assert.match(answer.text, /"code":"UPLOAD_TOO_LARGE"/)
    await until('nothing to be left', () => temporaryFiles(server).length === 0)
    assert.equal((await call(server, 'POST', UPLOADS, fileForm('x'.repeat(1_000)))).status, 201)
  })

  test('is refused at once by its announced length', async () => {
    await using server = await startServer(limited(1_000))
    const head = `Host: localhost\r\nContent-Type: ${FORM_TYPE}\r\nContent-Length: 70000\r\n`
    using one = await peer(server, `POST ${UPLOADS} HTTP/1.1\r\n${head}\r\n`)
    await until('the answer', () => one.text().includes('UPLOAD_TOO_LARGE'))
    assert.match(one.text(), /^HTTP\/1\.1 413 .*\r\nConnection: close\r\n/s)
    await until('its end', one.closed)
  })

  test('is refused while it is sent without a length, and the answer arrives', async () => {
    await using server = await startServer(limited(100_000))
    const head = `Host: localhost\r\nContent-Type: ${FORM_TYPE}\r\nTransfer-Encoding: chunked\r\n`
    using one = await peer(server, `POST ${UPLOADS} HTTP/1.1\r\n${head}\r\n`)
    const chunk = (text: string) => one.socket.write(`${text.length.toString(16)}\r\n${text}\r\n`)
    chunk(partHead())
    for (let i = 0; i < 20; i += 1) chunk('x'.repeat(10_000))
    await until('the answer', () => one.text().includes('UPLOAD_TOO_LARGE'))
    assert.match(one.text(), /^HTTP\/1\.1 413 .*\r\nConnection: close\r\n/s)
    await until('its end', one.closed)
    assert.deepEqual(temporaryFiles(server), [])
  })

  for (const [where, raw] of [
    ['before', (around: string) => `${around}\r\n${NOTE}${END}`],
    ['behind', (around: string) => `${NOTE}${END}${around}`],
  ] as const)
    test(`because of too much ${where} its file is refused, even if the file is small`, async () => {
      await using server = await startServer(limited(10_000_000))
      for (const pieces of [7, 70]) {
        const answer = await call<ErrorBody>(server, 'POST', UPLOADS, form(raw('x'.repeat(pieces * 10_000))))
        assert.equal(answer.status, 413, answer.text)
        assert.match(answer.text, /"message":"The envelope around the file is larger than 65536 bytes\."/)
      }
      await until('nothing to be left', () => temporaryFiles(server).length === 0)
      assert.equal((await call(server, 'POST', UPLOADS, form(raw('x'.repeat(60_000))))).status, 201)
    })

  for (const [where, raw] of [
    ['before it', (around: string) => `${around}\r\n${NOTE}${END}`],
    ['behind it', (around: string) => `${NOTE}${END}${around}`],
    ['on both sides', (around: string) => `${around.slice(30_000)}\r\n${NOTE}${END}${around.slice(0, 30_000)}`],
  ] as const)
    test(`by a single byte around its file, ${where}, is refused, and an upload of the exact limit is stored`, async () => {
      await using server = await startServer(limited(10_000_000))
      const filling = (most: number) => 'x'.repeat(most - (raw('x'.repeat(60_000)).length - 60_000 - 'Hello'.length))
      assert.equal((await call(server, 'POST', UPLOADS, form(raw(filling(65_536))))).status, 201)
      const answer = await call<ErrorBody>(server, 'POST', UPLOADS, form(raw(filling(65_537))))
      assert.equal(answer.status, 413, answer.text)
      assert.match(answer.text, /"message":"The envelope around the file is larger than 65536 bytes\."/)
      await until('nothing of it to be left', () => temporaryFiles(server).length === 1)
    })

  test('because of endless data after its file is refused', async () => {
    await using server = await startServer(limited(10_000_000))
    const head = `Host: localhost\r\nContent-Type: ${FORM_TYPE}\r\nTransfer-Encoding: chunked\r\n`
    using one = await peer(server, `POST ${UPLOADS} HTTP/1.1\r\n${head}\r\n`)
    const chunk = (text: string) => one.socket.write(`${text.length.toString(16)}\r\n${text}\r\n`)
    chunk(`${NOTE}${END}`)
    for (let i = 0; i < 20; i += 1) chunk('x'.repeat(10_000))
    await until('the answer', () => one.text().includes('envelope around the file'))
    await until('its end', one.closed)
    assert.deepEqual(temporaryFiles(server), [])
  })

  test('because its file never begins is refused', async () => {
    await using server = await startServer(limited(1_000))
    const head = `Host: localhost\r\nContent-Type: ${FORM_TYPE}\r\nTransfer-Encoding: chunked\r\n`
    using one = await peer(server, `POST ${UPLOADS} HTTP/1.1\r\n${head}\r\n`)
    for (let i = 0; i < 8; i += 1) one.socket.write(`2710\r\n${'x'.repeat(10_000)}\r\n`)
    await until('the answer', () => one.text().includes('UPLOAD_TOO_LARGE'))
  })
})
