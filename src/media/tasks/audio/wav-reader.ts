// Reads WAV files (RIFF) with PCM or float samples. The samples stay in the file's bytes and are decoded one by one on request.
import { MediaFault } from '../../fault.ts'

/** The encodings: 8 bits are unsigned, more bits are signed, floats are IEEE. */
export type SampleEncoding = 'pcm8' | 'pcm16' | 'pcm24' | 'pcm32' | 'float32' | 'float64'

export interface SoundLayout {
  /** Frames per second. */
  readonly rate: number
  readonly channels: number
  readonly encoding: SampleEncoding
}

export interface Sound extends SoundLayout {
  /** A frame has one sample for each channel. */
  readonly frames: number
  /** Samples frame by frame, little-endian. */
  readonly data: Uint8Array
}

export const MOST_AUDIO_BYTES = 100_000_000
export const MOST_CHANNELS = 32
const HIGHEST_RATE = 1_000_000
/** Chunks before the samples. Real files have far fewer, and each chunk is read. */
const MOST_CHUNKS = 1_000

export const BYTES_PER_SAMPLE: Readonly<Record<SampleEncoding, number>> = {
  pcm8: 1,
  pcm16: 2,
  pcm24: 3,
  pcm32: 4,
  float32: 4,
  float64: 8,
}

const EXTENSIBLE = 0xfffe
const ENCODINGS: Readonly<Record<string, SampleEncoding>> = {
  '1/8': 'pcm8',
  '1/16': 'pcm16',
  '1/24': 'pcm24',
  '1/32': 'pcm32',
  '3/32': 'float32',
  '3/64': 'float64',
}
/** The bytes after the format's number in the GUID of an extensible format (RFC 2361, KSDATAFORMAT). */
const EXTENSIBLE_SUFFIX = '000000001000800000aa00389b71'

/** The first bytes of other audio formats. */
const OTHER_FORMATS: readonly (readonly [RegExp, string])[] = [
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

interface RiffChunk {
  readonly id: string
  readonly from: number
  readonly size: number
}

export interface WavInfo extends SoundLayout {
  readonly frames: number
}

/** @throws MediaFault `bad_file`, `unsupported`, `too_large` */
export function readWav(bytes: Uint8Array): Sound {
  const { data, ...facts } = parseWav(bytes, bytes.length)
  return { ...facts, data: bytes.subarray(data.from, data.from + data.size) }
}

/** Reads the facts of a sound from the beginning of a file with `size` bytes. @throws MediaFault as `readWav` */
export function readWavInfo(head: Uint8Array, size: number): WavInfo {
  const { data, ...facts } = parseWav(head, size)
  return facts
}

function parseWav(bytes: Uint8Array, size: number): WavInfo & { data: RiffChunk } {
  const head = String.fromCharCode(...bytes.subarray(0, 12))
  if (bytes.length === 0) throw new MediaFault('bad_file', 'The audio is empty.')
  if (!/^RIFF....WAVE/s.test(head)) {
    const other = OTHER_FORMATS.find(([begin]) => begin.test(head))?.[1]
    const kind = other ? ` It looks like ${other}.` : ''
    throw new MediaFault('unsupported', `The file is no audio of a supported kind: WAV.${kind}`)
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const { format, data } = findChunks(view, size)
  const layout = readLayout(view, format)
  const block = layout.channels * BYTES_PER_SAMPLE[layout.encoding]
  return { ...layout, frames: countFrames(data, block), data }
}

function findChunks(view: DataView, total: number): { format: RiffChunk; data: RiffChunk } {
  let format: RiffChunk | null = null
  let at = 12
  for (let count = 0; at + 8 <= view.byteLength; count++) {
    if (count === MOST_CHUNKS)
      throw new MediaFault('bad_file', `The audio has more than ${MOST_CHUNKS} parts before its sound.`)
    const chunk = readChunk(view, at, total)
    if (chunk.id === 'fmt ') format = chunk
    if (chunk.id === 'data') {
      if (!format) throw damagedAudio('its sound comes before its format')
      return { format, data: chunk }
    }
    // Chunks begin at even offsets.
    at = chunk.from + chunk.size + (chunk.size % 2)
  }
  throw damagedAudio(format ? 'it has no sound' : 'it has no format')
}

/** Size fields of writers that did not know the size, such as ffmpeg and SoX into a pipe: the samples go to the end of the file. */
const UNKNOWN_SIZES: readonly number[] = [0xffff_ffff, 0x7fff_ffff, 0x7fff_f000]

function readChunk(view: DataView, at: number, total: number): RiffChunk {
  const id = String.fromCharCode(...[0, 1, 2, 3].map((index) => view.getUint8(at + index)))
  const from = at + 8
  const statedSize = view.getUint32(at + 4, true)
  const size = id === 'data' && UNKNOWN_SIZES.includes(statedSize) ? total - from : statedSize
  if (from + size > total)
    throw damagedAudio(
      `a part states ${statedSize.toLocaleString('en')} bytes, but only ${(total - from).toLocaleString('en')} follow`,
    )
  return { id, from, size }
}

function readLayout(view: DataView, { from, size }: RiffChunk): SoundLayout {
  if (size < 16) throw damagedAudio('its format is cut off')
  const [channels, rate, block, bits] = [
    view.getUint16(from + 2, true),
    view.getUint32(from + 4, true),
    view.getUint16(from + 12, true),
    view.getUint16(from + 14, true),
  ]
  const kind = readFormatCode(view, from, size)
  if (channels === 0) throw damagedAudio('it has no channels')
  if (channels > MOST_CHANNELS)
    throw new MediaFault(
      'too_large',
      `The audio has ${channels.toLocaleString('en')} channels; at most ${MOST_CHANNELS} are supported.`,
    )
  if (rate === 0) throw damagedAudio('its rate is zero')
  if (rate > HIGHEST_RATE)
    throw new MediaFault(
      'too_large',
      `The audio has a rate of ${rate.toLocaleString('en')} Hz; up to ${HIGHEST_RATE.toLocaleString('en')} Hz are supported.`,
    )
  const encoding = ENCODINGS[`${kind}/${bits}`]
  if (!encoding)
    throw new MediaFault(
      'unsupported',
      `The audio has an unsupported encoding (format ${kind}, ${bits} bits). PCM of 8, 16, 24 or 32 bits and floats are supported.`,
    )
  if (block !== channels * BYTES_PER_SAMPLE[encoding])
    throw damagedAudio('the size of its frames does not fit its channels')
  return { rate, channels, encoding }
}

function readFormatCode(view: DataView, from: number, size: number): number {
  const kind = view.getUint16(from, true)
  if (kind !== EXTENSIBLE) return kind
  if (size < 40) throw damagedAudio('its format is cut off')
  const name = Array.from({ length: 14 }, (_, at) =>
    view
      .getUint8(from + 26 + at)
      .toString(16)
      .padStart(2, '0'),
  ).join('')
  if (name !== EXTENSIBLE_SUFFIX)
    throw new MediaFault('unsupported', 'The audio has a proprietary encoding, which is not supported.')
  return view.getUint16(from + 24, true)
}

function countFrames({ size }: RiffChunk, block: number): number {
  if (size % block !== 0) throw damagedAudio('its last frame is cut off')
  return size / block
}

function damagedAudio(why: string): MediaFault {
  return new MediaFault('bad_file', `The audio is damaged: ${why}.`)
}

/** The size of a number of frames in bytes. @throws MediaFault `too_large` */
export function soundBytes(frames: number, { channels, encoding }: SoundLayout): number {
  const size = frames * channels * BYTES_PER_SAMPLE[encoding]
  if (size > MOST_AUDIO_BYTES)
    throw new MediaFault('too_large', `The audio would have more than ${MOST_AUDIO_BYTES.toLocaleString('en')} bytes.`)
  return size
}
