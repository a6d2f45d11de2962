// WAV files (RIFF), as they are read: samples as plain numbers or floats. Samples stay where they are in the file's bytes until somebody asks for one.
import { MediaFault } from '../fault.ts'

/** How samples are written: unsigned in 8 bits, signed in more, or as IEEE floats. */
export type Encoding = 'pcm8' | 'pcm16' | 'pcm24' | 'pcm32' | 'float32' | 'float64'

export interface Layout {
  /** Frames per second. */
  readonly rate: number
  readonly channels: number
  readonly encoding: Encoding
}

export interface Sound extends Layout {
  /** In each there is one sample for each channel. */
  readonly frames: number
  /** Samples frame by frame, little end first. */
  readonly data: Uint8Array
}

export const MOST_BYTES = 100_000_000
export const MOST_CHANNELS = 32
const HIGHEST_RATE = 1_000_000
/** Parts of a file before its sound: nobody writes more, and each is looked at. */
const MOST_CHUNKS = 1_000

export const BYTES: Readonly<Record<Encoding, number>> = {
  pcm8: 1,
  pcm16: 2,
  pcm24: 3,
  pcm32: 4,
  float32: 4,
  float64: 8,
}

const EXTENSIBLE = 0xfffe
const ENCODINGS: Readonly<Record<string, Encoding>> = {
  '1/8': 'pcm8',
  '1/16': 'pcm16',
  '1/24': 'pcm24',
  '1/32': 'pcm32',
  '3/32': 'float32',
  '3/64': 'float64',
}
/** What follows the format's number in the name of an extensible format (RFC 2361, KSDATAFORMAT). */
const NAMED = '000000001000800000aa00389b71'

/** How other kinds of files begin. */
const OTHERS: readonly (readonly [RegExp, string])[] = [
  [/^ID3|^\xff[\xe2\xe3\xf2\xf3\xfa\xfb]/, 'MP3'],
  [/^\xff[\xf0\xf1\xf8\xf9]/, 'AAC'],
  [/^fLaC/, 'FLAC'],
  [/^OggS/, 'Ogg'],
  [/^FORM....AIF/s, 'AIFF'],
  [/^....ftyp/s, 'MPEG-4'],
  [/^.E\xdf\xa3/s, 'WebM or Matroska'],
  [/^RF64|^BW64/, 'RF64'],
  [/^RIFX/, 'RIFX'],
]

interface Chunk {
  readonly id: string
  readonly from: number
  readonly size: number
}

export interface WavFacts extends Layout {
  readonly frames: number
}

/** @throws MediaFault `bad_file`, `unsupported`, `too_large` */
export function readWav(bytes: Uint8Array): Sound {
  const { data, ...facts } = foundIn(bytes, bytes.length)
  return { ...facts, data: bytes.subarray(data.from, data.from + data.size) }
}

/** What the beginning of a file of `size` bytes says of its sound. @throws MediaFault as `readWav` does */
export function wavFacts(head: Uint8Array, size: number): WavFacts {
  const { data, ...facts } = foundIn(head, size)
  return facts
}

function foundIn(bytes: Uint8Array, size: number): WavFacts & { data: Chunk } {
  const head = String.fromCharCode(...bytes.subarray(0, 12))
  if (bytes.length === 0) throw new MediaFault('bad_file', 'The audio is empty.')
  if (!/^RIFF....WAVE/s.test(head)) {
    const other = OTHERS.find(([begin]) => begin.test(head))?.[1]
    const kind = other ? ` It looks like ${other}.` : ''
    throw new MediaFault('unsupported', `The file is no audio of a kind that is read: WAV.${kind}`)
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const { format, data } = chunksOf(view, size)
  const layout = layoutOf(view, format)
  const block = layout.channels * BYTES[layout.encoding]
  return { ...layout, frames: framesOf(data, block), data }
}

function chunksOf(view: DataView, total: number): { format: Chunk; data: Chunk } {
  let format: Chunk | null = null
  let at = 12
  for (let count = 0; at + 8 <= view.byteLength; count++) {
    if (count === MOST_CHUNKS)
      throw new MediaFault('bad_file', `The audio has more than ${MOST_CHUNKS} parts before its sound.`)
    const chunk = chunkAt(view, at, total)
    if (chunk.id === 'fmt ') format = chunk
    if (chunk.id === 'data') {
      if (!format) throw damaged('its sound comes before its format')
      return { format, data: chunk }
    }
    // Parts begin at even places.
    at = chunk.from + chunk.size + (chunk.size % 2)
  }
  throw damaged(format ? 'it has no sound' : 'it has no format')
}

/** Sizes of sounds whose writers did not know them when they began, such as ffmpeg and SoX into a pipe: they go to the end of the file. */
const UNKNOWN_SIZES: readonly number[] = [0xffff_ffff, 0x7fff_ffff, 0x7fff_f000]

function chunkAt(view: DataView, at: number, total: number): Chunk {
  const id = String.fromCharCode(...[0, 1, 2, 3].map((index) => view.getUint8(at + index)))
  const from = at + 8
  const said = view.getUint32(at + 4, true)
  const size = id === 'data' && UNKNOWN_SIZES.includes(said) ? total - from : said
  if (from + size > total)
    throw damaged(
      `a part of it is said to have ${said.toLocaleString('en')} bytes, and ${(total - from).toLocaleString('en')} are there`,
    )
  return { id, from, size }
}

function layoutOf(view: DataView, { from, size }: Chunk): Layout {
  if (size < 16) throw damaged('its format is cut off')
  const [channels, rate, block, bits] = [
    view.getUint16(from + 2, true),
    view.getUint32(from + 4, true),
    view.getUint16(from + 12, true),
    view.getUint16(from + 14, true),
  ]
  const kind = kindOf(view, from, size)
  if (channels === 0) throw damaged('it has no channels')
  if (channels > MOST_CHANNELS)
    throw new MediaFault(
      'too_large',
      `The audio has ${channels.toLocaleString('en')} channels; ${MOST_CHANNELS} are read.`,
    )
  if (rate === 0) throw damaged('its rate is zero')
  if (rate > HIGHEST_RATE)
    throw new MediaFault(
      'too_large',
      `The audio has a rate of ${rate.toLocaleString('en')} Hz; up to ${HIGHEST_RATE.toLocaleString('en')} Hz are read.`,
    )
  const encoding = ENCODINGS[`${kind}/${bits}`]
  if (!encoding)
    throw new MediaFault(
      'unsupported',
      `The audio is encoded in a way that is not read (format ${kind}, ${bits} bits): PCM of 8, 16, 24 or 32 bits and floats are.`,
    )
  if (block !== channels * BYTES[encoding]) throw damaged('the size of its frames does not fit its channels')
  return { rate, channels, encoding }
}

function kindOf(view: DataView, from: number, size: number): number {
  const kind = view.getUint16(from, true)
  if (kind !== EXTENSIBLE) return kind
  if (size < 40) throw damaged('its format is cut off')
  const name = Array.from({ length: 14 }, (_, at) =>
    view
      .getUint8(from + 26 + at)
      .toString(16)
      .padStart(2, '0'),
  ).join('')
  if (name !== NAMED) throw new MediaFault('unsupported', 'The audio is encoded in a way that only its maker knows.')
  return view.getUint16(from + 24, true)
}

function framesOf({ size }: Chunk, block: number): number {
  if (size % block !== 0) throw damaged('its last frame is cut off')
  return size / block
}

function damaged(why: string): MediaFault {
  return new MediaFault('bad_file', `The audio is damaged: ${why}.`)
}

/** How many bytes so many frames take. @throws MediaFault `too_large` */
export function sizeOf(frames: number, { channels, encoding }: Layout): number {
  const size = frames * channels * BYTES[encoding]
  if (size > MOST_BYTES)
    throw new MediaFault('too_large', `The audio would have more than ${MOST_BYTES.toLocaleString('en')} bytes.`)
  return size
}
