// audio.*: the result of each node, sample by sample; and invalid files.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import sharp from 'sharp'
import { failsAs } from './fails-as.ts'
import { mediaNodes } from './with-media.ts'

const nodes = mediaNodes()
after(() => nodes[Symbol.asyncDispose]())

interface Head {
  rate?: number
  channels?: number
  bits?: number
  kind?: number
  block?: number
  /** The size that the file claims, if it is wrong. */
  size?: number
  /** Chunks before and after the format chunk. */
  before?: Buffer
  between?: Buffer
  extra?: Buffer
}

/** A handmade WAV file of raw bytes. */
function wav(data: Buffer, head: Head = {}): Buffer {
  const {
    rate = 8,
    channels = 1,
    bits = 16,
    kind = 1,
    size = data.length,
    before = none,
    between = none,
    extra = none,
  } = head
  const format = Buffer.alloc(16)
  format.writeUInt16LE(kind, 0)
  format.writeUInt16LE(channels, 2)
  format.writeUInt32LE(rate, 4)
  format.writeUInt16LE((head.block ?? (channels * bits) / 8) & 0xffff, 12)
  format.writeUInt16LE(bits, 14)
  const parts = [
    Buffer.from('WAVE'),
    before,
    chunk('fmt ', Buffer.concat([format, extra])),
    between,
    chunk('data', data, size),
  ]
  return chunk('RIFF', Buffer.concat(parts))
}

function chunk(id: string, data: Buffer, size = data.length): Buffer {
  const head = Buffer.alloc(8)
  head.write(id)
  head.writeUInt32LE(size, 4)
  return Buffer.concat([head, data])
}

const none = Buffer.alloc(0)

function pcm16(...samples: number[]): Buffer {
  const data = Buffer.alloc(samples.length * 2)
  samples.forEach((sample, at) => void data.writeInt16LE(sample, at * 2))
  return data
}

interface Sound {
  type: string
  data: Uint8Array
  content_type: string
  name?: string
  rate: number
  channels: number
  encoding: string
  bits: number
  duration: number
}

async function soundOf(type: string, inputs: Record<string, unknown>): Promise<Sound> {
  const { audio, duration } = await nodes.fire(type, inputs)
  const sound = audio as Sound
  assert.deepEqual([sound.type, sound.content_type, sound.duration], ['audio', 'audio/wav', duration])
  return sound
}

/** The samples of a 16-bit sound. */
function levels({ data, bits }: Sound): number[] {
  assert.equal(bits, 16)
  const body = Buffer.from(data).subarray(44)
  return Array.from({ length: body.length / 2 }, (_, at) => body.readInt16LE(at * 2))
}

const STEPS = wav(pcm16(0, 1000, -1000, 32767, -32768, 5, 6, 7))

describe('audio.*', () => {
  test('Read reports the format of a sound, and keeps only the sound', async () => {
    const list = chunk('LIST', Buffer.from('a tag'.padEnd(7, '.')))
    const odd = Buffer.concat([list, none, Buffer.alloc(1)])
    const stereo = wav(pcm16(1, 2, 3, 4), { channels: 2, rate: 44_100, between: odd })
    const polyglot = Buffer.concat([stereo, Buffer.from('PK\u0003\u0004<script>')])
    const { audio, ...facts } = await nodes.fire('audio.Read', { audio: { data: polyglot, name: 'song.wave' } })
    assert.deepEqual(facts, { rate: 44_100, channels: 2, encoding: 'pcm16', bits: 16, duration: 2 / 44_100 })
    assert.deepEqual(levels(audio as Sound), [1, 2, 3, 4])
    assert.equal((audio as Sound).data.length, 44 + 8)
    assert.equal((audio as Sound).name, 'song.wav')
  })

  test('Convert reads every encoding, and writes each without loss where it can', async () => {
    for (const encoding of ['pcm24', 'pcm32', 'float32', 'float64']) {
      const wide = await soundOf('audio.Convert', { audio: STEPS, encoding })
      assert.equal(wide.encoding, encoding)
      assert.deepEqual(
        levels(await soundOf('audio.Convert', { audio: wide, encoding: 'pcm16' })),
        [0, 1000, -1000, 32767, -32768, 5, 6, 7],
      )
    }
    const small = await soundOf('audio.Convert', { audio: wav(pcm16(0, 32767, -32768, 256)), encoding: 'pcm8' })
    assert.deepEqual([...small.data.subarray(44)], [128, 255, 0, 129])
    assert.deepEqual(
      levels(await soundOf('audio.Convert', { audio: small, encoding: 'pcm16' })),
      [0, 32512, -32768, 256],
    )
  })

  test('reads the extensible format, and a size that its writer did not know', async () => {
    const name = Buffer.from('0100000000001000800000aa00389b71', 'hex')
    const extra = Buffer.concat([Buffer.from([22, 0, 16, 0, 4, 0, 0, 0]), name])
    assert.deepEqual(
      levels(await soundOf('audio.Read', { audio: wav(pcm16(1, -2), { kind: 0xfffe, extra }) })),
      [1, -2],
    )
    for (const size of [0xffff_ffff, 0x7fff_ffff, 0x7fff_f000])
      assert.deepEqual(levels(await soundOf('audio.Read', { audio: wav(pcm16(3, 4), { size }) })), [3, 4])
    const own = Buffer.concat([Buffer.from([22, 0, 16, 0, 4, 0, 0, 0]), Buffer.alloc(16, 7)])
    await assert.rejects(
      soundOf('audio.Read', { audio: wav(pcm16(1), { kind: 0xfffe, extra: own }) }),
      failsAs('unsupported', /proprietary encoding/),
    )
  })

  test('Convert makes one channel of several, and several of one', async () => {
    const one = await soundOf('audio.Convert', { audio: wav(pcm16(100, 300, -4, -8), { channels: 2 }), channels: 1 })
    assert.deepEqual(levels(one), [200, -6])
    assert.deepEqual(levels(await soundOf('audio.Convert', { audio: one, channels: 3 })), [200, 200, 200, -6, -6, -6])
    await assert.rejects(
      soundOf('audio.Convert', { audio: wav(pcm16(1, 2), { channels: 2 }), channels: 4 }),
      failsAs('bad_input', /2 channels cannot be converted to 4/),
    )
  })

  test('Convert keeps a tone, and removes frequencies that the new rate cannot hold', async () => {
    const low = await nodes.fire('audio.Tone', { frequency: 100, rate: 8_000, seconds: 0.5, level: 0.5 })
    const faster = levels(await soundOf('audio.Convert', { audio: low.audio, rate: 11_025 }))
    assert.equal(faster.length, 5_513)
    for (let at = 500; at < 5_000; at++) {
      const expected = 16_384 * Math.sin((2 * Math.PI * 100 * at) / 11_025)
      assert.ok(Math.abs(faster[at]! - expected) < 16, `${at}: ${faster[at]} for ${expected}`)
    }
    const high = await nodes.fire('audio.Tone', { frequency: 3_500, rate: 8_000, seconds: 0.5, level: 0.5 })
    const slower = levels(await soundOf('audio.Convert', { audio: high.audio, rate: 4_000 }))
    assert.ok(slower.slice(100, 1_900).every((level) => Math.abs(level) < 16))
  })

  test('Tone is a sine', async () => {
    const quarter = await soundOf('audio.Tone', {
      frequency: 1_000,
      rate: 4_000,
      seconds: 0.002,
      level: 1,
      channels: 2,
    })
    assert.deepEqual(
      levels(quarter),
      [0, 0, 32767, 32767, 0, 0, -32768, -32768, 0, 0, 32767, 32767, 0, 0, -32768, -32768],
    )
    await assert.rejects(soundOf('audio.Tone', { frequency: 2_000, rate: 4_000 }), failsAs('bad_input', /below 2000/))
    await assert.rejects(soundOf('audio.Tone', { seconds: 86_400, channels: 32 }), failsAs('too_large', /100,000,000/))
  })

  test('Slice cuts by time', async () => {
    assert.deepEqual(levels(await soundOf('audio.Slice', { audio: STEPS, from: 0.25, to: 0.5 })), [-1000, 32767])
    assert.deepEqual(levels(await soundOf('audio.Slice', { audio: STEPS, from: 0.75, to: 99 })), [6, 7])
    assert.deepEqual(levels(await soundOf('audio.Slice', { audio: STEPS, from: 1 })), [])
    await assert.rejects(soundOf('audio.Slice', { audio: STEPS, from: 2 }), failsAs('bad_input', /has 1 seconds/))
    await assert.rejects(
      soundOf('audio.Slice', { audio: STEPS, from: 0.5, to: 0.25 }),
      failsAs('bad_input', /before it begins/),
    )
  })

  test('Concat plays sounds one after the other, in the format of the first', async () => {
    const other = wav(pcm16(10, 30, 20, 40), { channels: 2 })
    const joined = await soundOf('audio.Concat', { audios: [{ data: STEPS, name: 'a.wav' }, other], gap: 0.25 })
    assert.deepEqual(levels(joined), [0, 1000, -1000, 32767, -32768, 5, 6, 7, 0, 0, 20, 30])
    assert.equal(joined.name, 'a.wav')
    const faster = wav(pcm16(...new Array(32).fill(500)), { rate: 16 })
    const brought = levels(await soundOf('audio.Concat', { audios: [wav(pcm16(1)), faster] }))
    assert.deepEqual(brought, [1, ...new Array(16).fill(500)])
    await assert.rejects(soundOf('audio.Concat', { audios: [] }), failsAs('bad_input', /no audio/))
  })

  test('Mix plays at the same time, each as loud as asked', async () => {
    const mixed = await soundOf('audio.Mix', {
      audios: [wav(pcm16(100, 200, 300)), wav(pcm16(10_000, 32_767, -32_768))],
      gains: [20],
      starts: [0, 0.125],
    })
    assert.deepEqual(levels(mixed), [1000, 12_000, 32_767, -32_768])
    for (const [more, message] of [
      [{ starts: [0, -0.125] }, /start of sound 2 is -0.125: it must be from 0 to 86,400/],
      [{ starts: [Number.NaN] }, /start of sound 1 is NaN/],
      [{ gains: [61] }, /gain of sound 1 is 61: it must be from -200 to 60/],
    ] as const) {
      const audios = [wav(pcm16(1)), wav(pcm16(2))]
      await assert.rejects(nodes.fire('audio.Mix', { audios, ...more }), failsAs('bad_input', message))
    }
  })

  test('Gain and Normalize change how loud it is', async () => {
    const quiet = wav(pcm16(100, -200, 0))
    assert.deepEqual(levels(await soundOf('audio.Gain', { audio: quiet, decibels: -20 })), [10, -20, 0])
    assert.deepEqual(levels(await soundOf('audio.Gain', { audio: quiet, decibels: 60 })), [32_767, -32_768, 0])
    assert.deepEqual(levels(await soundOf('audio.Normalize', { audio: quiet, peak: 0 })), [16_384, -32_768, 0])
    assert.deepEqual(levels(await soundOf('audio.Normalize', { audio: wav(pcm16(0, 0)) })), [0, 0])
  })

  test('Fade lets a sound grow from silence and shrink to it', async () => {
    const audio = wav(pcm16(...Array<number>(9).fill(8_000)))
    const faded = async (fade_in: number, fade_out: number) =>
      levels(await soundOf('audio.Fade', { audio, fade_in, fade_out }))
    assert.deepEqual(await faded(0.25, 0.5), [0, 4_000, 8_000, 8_000, 8_000, 6_000, 4_000, 2_000, 0])
    assert.deepEqual(await faded(2, 1), [0, 500, 1_000, 1_500, 2_000, 2_500, 2_000, 1_000, 0])
    assert.deepEqual(await faded(0, 0), Array(9).fill(8_000))
    assert.deepEqual(levels(await soundOf('audio.Fade', { audio: wav(none) })), [])
  })

  test('Waveform gives peaks, and draws them', async () => {
    const { image, peaks, duration } = await nodes.fire('audio.Waveform', {
      audio: wav(pcm16(16_384, -16_384, 0, 0, 32_767, 0, -32_768, -32_768)),
      width: 4,
      height: 5,
      colour: '#ff0000',
      background: '#0000ff',
    })
    assert.deepEqual(peaks, [
      [-0.5, 0.5],
      [0, 0],
      [0, 32_767 / 32_768],
      [-1, -1],
    ])
    assert.equal(duration, 1)
    const raw = await sharp((image as Sound).data)
      .removeAlpha()
      .raw()
      .toBuffer()
    const rows = Array.from({ length: 5 }, (_, y) =>
      Array.from({ length: 4 }, (_one, x) => (raw[(y * 4 + x) * 3] === 255 ? '#' : '.')).join(''),
    )
    assert.deepEqual(rows, ['..#.', '#.#.', '###.', '#...', '...#'])
  })

  test('never gives a sample that is not a number', async () => {
    const data = Buffer.alloc(12)
    data.writeFloatLE(Number.NaN, 0)
    data.writeFloatLE(Number.POSITIVE_INFINITY, 4)
    data.writeFloatLE(0.5, 8)
    const sound = await soundOf('audio.Convert', { audio: wav(data, { kind: 3, bits: 32 }), encoding: 'pcm16' })
    assert.deepEqual(levels(sound), [0, 0, 16_384])
  })

  for (const [what, audio, type, message] of [
    ['nothing', none, 'bad_file', /empty/],
    ['text', Buffer.from('no sound at all, really'), 'unsupported', /WAV\.$/],
    ['an MP3', Buffer.from('ID3\u0004'), 'unsupported', /MP3/],
    ['an Ogg', Buffer.from('OggS\0'), 'unsupported', /Ogg/],
    ['a FLAC', Buffer.from('fLaC\0'), 'unsupported', /FLAC/],
    [
      'a part that is larger than the file',
      wav(pcm16(1, 2), { size: 4_000_000_000 }),
      'bad_file',
      /4,000,000,000 bytes, but only 4/,
    ],
    ['a rate of zero', wav(pcm16(1), { rate: 0 }), 'bad_file', /rate is zero/],
    ['an endless rate', wav(pcm16(1), { rate: 4_294_967_295 }), 'too_large', /4,294,967,295 Hz/],
    ['no channels', wav(pcm16(1), { channels: 0 }), 'bad_file', /no channels/],
    ['65,535 channels', wav(pcm16(1), { channels: 65_535 }), 'too_large', /65,535 channels/],
    ['frames of another size', wav(pcm16(1, 2), { block: 3 }), 'bad_file', /size of its frames/],
    ['half a frame', wav(Buffer.alloc(3)), 'bad_file', /last frame/],
    ['a compressed sound', wav(pcm16(1), { kind: 2, bits: 4 }), 'unsupported', /format 2, 4 bits/],
    ['sound before its format', wav(none, { before: chunk('data', pcm16(1)) }), 'bad_file', /before its format/],
    [
      'countless parts',
      wav(pcm16(1), { between: Buffer.concat(new Array(2_000).fill(chunk('junk', none))) }),
      'bad_file',
      /1000 parts/,
    ],
  ] as const)
    test(`refuses ${what}`, async () => {
      await assert.rejects(soundOf('audio.Read', { audio }), failsAs(type, message))
    })

  test('refuses a file cut off anywhere, and reads the whole one then', async () => {
    for (let length = 1; length < STEPS.length; length++)
      await assert.rejects(
        soundOf('audio.Read', { audio: STEPS.subarray(0, length) }),
        failsAs(/^(?:bad_file|unsupported)$/, /audio/),
      )
    assert.equal((await soundOf('audio.Read', { audio: STEPS })).duration, 1)
  })
})
