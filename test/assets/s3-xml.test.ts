// The XML of object storage: which elements are found, and that no answer takes long to be read.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { elements, textOf } from '../../src/assets/s3/xml.ts'
import { mostMs, processorMs } from '../helpers/processor.ts'

test('elements are found by their names, with attributes or without', () => {
  const xml = '<List><Keys>no</Keys><Key a="b">one</Key><Key/><Key>two &amp; three</Key ><Key>four</Key></List>'
  assert.deepEqual([...elements(xml, 'Key')], ['one', 'two &amp; three</Key ><Key>four'])
  assert.deepEqual([...elements('<Key></Key><Key>cut', 'Key')], [''])
  assert.equal(textOf('<Key>a &lt;b&gt; &#x63;&#100;</Key>', 'Key'), 'a <b> cd')
  assert.equal(textOf(xml, 'Code'), null)
})

/** Milliseconds of the processor; a tenth of it would do. */
const LONGEST_MS = 50

test('an answer without the ends of its elements is soon read', () => {
  for (const text of ['<Contents>', '<Contents ', '<ContentsContents', '<Contents>&lt;'].map((one) =>
    one.repeat(40_000),
  )) {
    const took = processorMs(() => assert.equal(textOf(text, 'Contents'), null))
    assert.ok(took < mostMs(took, LONGEST_MS), `${took} ms for ${text.slice(0, 20)}`)
  }
})
