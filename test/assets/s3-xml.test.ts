// Tests the XML parser: which elements it finds, and that no answer takes long to parse.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Bucket } from '../../src/assets/stores/s3/bucket.ts'
import { elementText, findElements } from '../../src/assets/stores/s3/xml.ts'
import { longestTurn } from '../helpers/loop.ts'
import { inMostRounds } from '../helpers/patience.ts'
import { mostMs, processorMs } from '../helpers/processor.ts'
import { BUCKET, CREDENTIALS } from './bucket-server.ts'

test('elements are found by their names, with attributes or without', () => {
  const xml = '<List><Keys>no</Keys><Key a="b">one</Key><Key/><Key>two &amp; three</Key ><Key>four</Key></List>'
  assert.deepEqual([...findElements(xml, 'Key')], ['one', 'two &amp; three</Key ><Key>four'])
  assert.deepEqual([...findElements('<Key></Key><Key>cut', 'Key')], [''])
  assert.equal(elementText('<Key>a &lt;b&gt; &#x63;&#100;</Key>', 'Key'), 'a <b> cd')
  assert.equal(elementText('<Key>&#x110000;&#9999999;&#x10ffff;</Key>', 'Key'), '\ufffd\ufffd\u{10ffff}')
  assert.equal(elementText(xml, 'Code'), null)
})

/** Milliseconds of the processor; a tenth of it would do. */
const LONGEST_MS = 50

test('an answer without closing tags is parsed quickly', () => {
  for (const text of ['<Contents>', '<Contents ', '<ContentsContents', '<Contents>&lt;'].map((one) =>
    one.repeat(40_000),
  )) {
    const took = processorMs(() => assert.equal(elementText(text, 'Contents'), null))
    assert.ok(took < mostMs(took, LONGEST_MS), `${took} ms for ${text.slice(0, 20)}`)
  }
})

test('a text of entities only is parsed quickly', () => {
  for (const entity of ['&amp;', '&#65;', '&#x41;']) {
    const xml = `<Error><Code>${entity.repeat(1_000_000)}</Code></Error>`
    const took = processorMs(() => assert.equal(elementText(xml, 'Code')?.slice(0, 1_000).length, 1_000))
    assert.ok(took < mostMs(took, LONGEST_MS), `${took} ms for ${entity}`)
  }
})

/** The keys of a page, each of the maximum number of entities. */
const KEYS = 1_000
const ENTITIES = 1_600
/** Milliseconds of the processor: some keys, and the page as one text. */
const LONGEST_TURN = 75

test('a page of keys of entities only does not hold up other work', async () => {
  const xml = `<List>${`<Contents><Key>files/${'&amp;'.repeat(ENTITIES)}</Key></Contents>`.repeat(KEYS)}</List>`
  const server = createServer((_, response) => response.end(xml)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const settings = { bucket: BUCKET, prefix: '', endpoint, region: 'a', path_style: true, credentials: CREDENTIALS }
  const bucket = new Bucket(settings, 'files')
  try {
    await inMostRounds(async () => {
      const took = await longestTurn(async () => {
        const keys = await bucket.list(null, KEYS)
        assert.deepEqual([keys.length, keys.at(-1)?.slice(0, 3)], [KEYS, '&&&'])
      })
      assert.ok(took < mostMs(took, LONGEST_TURN), `${took} ms`)
    })
  } finally {
    bucket.close()
    server.close()
    server.closeAllConnections()
  }
})
