// The tasks for single images: shape and appearance.
import type { Sharp } from 'sharp'
import { MediaFault } from '../../fault.ts'
import type { MediaTaskHandlers } from '../../task-runner.ts'
import type { OpenedImage } from './codec.ts'
import { compositingTasks } from './compositing.ts'
import { contactSheetTasks } from './contact-sheet.ts'
import { metadataTasks } from './metadata.ts'
import {
  createAnimatedImageTask,
  createImageTask,
  guardImageSize,
  parseColour,
  renderPipeline,
} from './task-helpers.ts'
import { trimAndPadTasks } from './trim-and-pad.ts'

interface ResizeParams {
  readonly width: number | null
  readonly height: number | null
  readonly fit: 'contain' | 'cover' | 'fill' | 'inside' | 'outside'
  readonly enlarge: boolean
  readonly background: string
}

async function resizeImage({ image, width, height, opened_frames }: OpenedImage, asked: ResizeParams): Promise<Sharp> {
  if (asked.width === null && asked.height === null)
    throw new MediaFault('bad_input', 'A width or a height is required.')
  const scale = Math.max((asked.width ?? 0) / width, (asked.height ?? 0) / height)
  guardImageSize(asked.width ?? Math.ceil(width * scale), asked.height ?? Math.ceil(height * scale), opened_frames)
  if (asked.fit === 'outside') guardImageSize(Math.ceil(width * scale), Math.ceil(height * scale), opened_frames)
  const { fit, enlarge } = asked
  const background = await parseColour(asked.background)
  const size = { width: asked.width ?? undefined, height: asked.height ?? undefined }
  return image.resize({ ...size, fit, withoutEnlargement: !enlarge, background })
}

interface CropParams {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

function cropImage({ image, width, height }: OpenedImage, box: CropParams): Sharp {
  if (box.left + box.width > width || box.top + box.height > height)
    throw new MediaFault('bad_input', `The part lies outside of the image, which has ${width} × ${height} pixels.`)
  return image.extract({ left: box.left, top: box.top, width: box.width, height: box.height })
}

interface RotateParams {
  readonly angle: number
  readonly background: string
}

async function rotateImage(picture: OpenedImage, { angle, background }: RotateParams): Promise<Sharp> {
  const diagonal = Math.ceil(Math.hypot(picture.width, picture.height))
  if (angle % 90 !== 0) guardImageSize(diagonal, diagonal)
  const colour = await parseColour(background)
  return (await renderPipeline(picture)).rotate(angle, { background: colour })
}

interface AdjustParams {
  readonly brightness: number
  readonly saturation: number
  readonly hue: number
}

export const imageTasks: MediaTaskHandlers = {
  'image.resize': createAnimatedImageTask<ResizeParams>(resizeImage),
  'image.crop': createImageTask<CropParams>(cropImage),
  'image.rotate': createImageTask<RotateParams>(rotateImage),
  'image.flip': createImageTask<{ axis: 'horizontal' | 'vertical' }>(async (picture, { axis }) => {
    const image = await renderPipeline(picture)
    return axis === 'vertical' ? image.flip() : image.flop()
  }),
  'image.blur': createImageTask<{ radius: number }>(({ image }, { radius }) => image.blur(radius)),
  'image.sharpen': createImageTask<{ radius: number }>(({ image }, { radius }) => image.sharpen({ sigma: radius })),
  'image.grayscale': createImageTask(({ image }) => image.grayscale()),
  'image.adjust': createImageTask<AdjustParams>(({ image }, { brightness, saturation, hue }) =>
    image.modulate({ saturation, hue }).linear(brightness, 0),
  ),
  'image.convert': createAnimatedImageTask(({ image }) => image),
  ...trimAndPadTasks,
  ...compositingTasks,
  ...contactSheetTasks,
  ...metadataTasks,
}
