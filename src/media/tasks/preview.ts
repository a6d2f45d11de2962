// The tasks of the preview generator: facts about a file, and a thumbnail as WebP.
import type { Sharp } from 'sharp'
import type { MediaTaskHandler, MediaTaskHandlers, MediaTaskResult } from '../task-runner.ts'
import { readWavInfo } from './audio/wav-reader.ts'
import { mapImageErrors, openImage } from './image/codec.ts'

/** For each side. */
const LONGEST_SIDE_PX = 512
const QUALITY = 80

/** Drops metadata and converts colours to sRGB. */
async function createThumbnail(image: Sharp): Promise<Uint8Array> {
  const within = image.resize({
    width: LONGEST_SIDE_PX,
    height: LONGEST_SIDE_PX,
    fit: 'inside',
    withoutEnlargement: true,
  })
  return await mapImageErrors(() => within.webp({ quality: QUALITY }).toBuffer())
}

async function previewImage([bytes]: readonly Uint8Array[]): Promise<MediaTaskResult> {
  const { image, width, height, frames } = await openImage(bytes!)
  const value = frames > 1 ? { width, height, frames } : { width, height }
  return { files: [await createThumbnail(image)], value }
}

/** Renders the first page at one pixel per point, or smaller where that is too large. */
const previewPdf: MediaTaskHandler = async ([bytes]) => {
  const { renderPage, openPage, withPdfDocument } = await import('./document/pdf.ts')
  return withPdfDocument(bytes!, async (document, pages) => {
    const page = openPage(document, 1)
    const scale = Math.min(1, LONGEST_SIDE_PX / Math.max(page.width, page.height))
    const pixels = (length: number) => Math.max(1, Math.round(length * scale))
    const image = await renderPage(page, { width: pixels(page.width), height: pixels(page.height) })
    return { files: [await createThumbnail(image)], value: { pages } }
  })
}

/** `head` is the beginning of the file; `size` is the size of the whole file. */
function previewWav([head]: readonly Uint8Array[], { size }: Readonly<Record<string, unknown>>): MediaTaskResult {
  const { rate: sample_rate, channels, frames } = readWavInfo(head!, size as number)
  return { value: { duration: frames / sample_rate, channels, sample_rate } }
}

export const previewTasks: MediaTaskHandlers = {
  'preview.image': previewImage,
  'preview.pdf': previewPdf,
  'preview.wav': previewWav,
}
