// Reads the plain EXIF tags of an image (EXIF 2.32, TIFF 6.0): texts and numbers of two directories. The location, embedded images and maker notes are
// left out. Every offset and count is checked, since hostile files contain wrong ones.

/** Tags by number: of the image, and of the exposure. */
const TAGS: Readonly<Record<number, string>> = {
  270: 'description',
  271: 'make',
  272: 'model',
  274: 'orientation',
  305: 'software',
  306: 'modified_at',
  315: 'artist',
  33432: 'copyright',
  33434: 'exposure_seconds',
  33437: 'f_number',
  34855: 'iso',
  36867: 'taken_at',
  36880: 'modified_offset',
  36881: 'taken_offset',
  37385: 'flash',
  37386: 'focal_length_mm',
  41989: 'focal_length_35mm',
  42034: 'lens',
  42035: 'lens_make',
  42036: 'lens_model',
}
const EXIF_DIRECTORY = 0x8769

/** In bytes, of one value of each supported TIFF type: text, short, long, fractions. */
const VALUE_SIZES: Readonly<Record<number, number>> = { 2: 1, 3: 2, 4: 4, 5: 8, 10: 8 }
const MOST_ENTRIES = 200
const LONGEST_TEXT = 1_000

interface TiffBlock {
  readonly view: DataView
  readonly little: boolean
}

export type ExifTags = Record<string, string | number>

/** Reads the plain tags of an EXIF block; of a damaged block, those that are readable. */
export function readExif(block: Uint8Array): ExifTags {
  const named = new TextDecoder('latin1').decode(block.subarray(0, 6)) === 'Exif\0\0'
  const bytes = named ? block.subarray(6) : block
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const order = bytes.length < 8 ? '' : String.fromCharCode(bytes[0]!, bytes[1]!)
  const found: ExifTags = {}
  if (order !== 'II' && order !== 'MM') return found
  const tiff = { view, little: order === 'II' }
  const inner = readDirectory(tiff, view.getUint32(4, tiff.little), found)
  // Only one level: a directory may refer to itself.
  if (inner !== null) readDirectory(tiff, inner, found)
  return found
}

function readDirectory({ view, little }: TiffBlock, from: number, found: ExifTags): number | null {
  if (from + 2 > view.byteLength) return null
  const count = Math.min(view.getUint16(from, little), MOST_ENTRIES)
  let inner: number | null = null
  for (let at = from + 2; at < from + 2 + count * 12 && at + 12 <= view.byteLength; at += 12) {
    const tag = view.getUint16(at, little)
    if (tag === EXIF_DIRECTORY) inner = view.getUint32(at + 8, little)
    const name = TAGS[tag]
    const value = name === undefined ? null : readValue({ view, little }, at)
    if (name !== undefined && value !== null) found[name] = value
  }
  return inner
}

function readValue({ view, little }: TiffBlock, at: number): string | number | null {
  const type = view.getUint16(at + 2, little)
  const count = view.getUint32(at + 4, little)
  const size = (VALUE_SIZES[type] ?? 0) * count
  if (size === 0) return null
  const from = size <= 4 ? at + 8 : view.getUint32(at + 8, little)
  if (from + size > view.byteLength) return null
  if (type === 2) return readText(view, from, Math.min(count, LONGEST_TEXT))
  if (type === 3) return view.getUint16(from, little)
  if (type === 4) return view.getUint32(from, little)
  const [over, under] =
    type === 5
      ? [view.getUint32(from, little), view.getUint32(from + 4, little)]
      : [view.getInt32(from, little), view.getInt32(from + 4, little)]
  return under === 0 ? null : over / under
}

/** Reads up to a NUL. Cameras write ASCII, or UTF-8 for other characters. */
function readText(view: DataView, from: number, count: number): string | null {
  const bytes = new Uint8Array(view.buffer, view.byteOffset + from, count)
  const end = bytes.indexOf(0)
  const text = new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end)).trim()
  return text === '' ? null : text
}
