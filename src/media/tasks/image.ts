// Tasks on single pictures: their shape and their look.
import type { Sharp } from 'sharp'
import { MediaFault } from '../fault.ts'
import type { Tasks } from '../serving.ts'
import { composeTasks } from './image-compose.ts'
import { edgeTasks } from './image-edges.ts'
import { factTasks } from './image-facts.ts'
import type { Opened } from './image-read.ts'
import { apart, colourOf, shaped, shapedMoving, within } from './image-shape.ts'
import { sheetTasks } from './image-sheet.ts'

interface Resize {
  readonly width: number | null
  readonly height: number | null
  readonly fit: 'contain' | 'cover' | 'fill' | 'inside' | 'outside'
  readonly enlarge: boolean
  readonly background: string
}

async function resized({ image, width, height, taken }: Opened, asked: Resize): Promise<Sharp> {
  if (asked.width === null && asked.height === null)
    throw new MediaFault('bad_input', 'Neither a width nor a height is given.')
  const scale = Math.max((asked.width ?? 0) / width, (asked.height ?? 0) / height)
  within(asked.width ?? Math.ceil(width * scale), asked.height ?? Math.ceil(height * scale), taken)
  if (asked.fit === 'outside') within(Math.ceil(width * scale), Math.ceil(height * scale), taken)
  const { fit, enlarge } = asked
  const background = await colourOf(asked.background)
  const size = { width: asked.width ?? undefined, height: asked.height ?? undefined }
  return image.resize({ ...size, fit, withoutEnlargement: !enlarge, background })
}

interface Box {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

function cropped({ image, width, height }: Opened, box: Box): Sharp {
  if (box.left + box.width > width || box.top + box.height > height)
    throw new MediaFault('bad_input', `The part lies outside of the image, which has ${width} × ${height} pixels.`)
  return image.extract({ left: box.left, top: box.top, width: box.width, height: box.height })
}

interface Rotate {
  readonly angle: number
  readonly background: string
}

async function rotated(picture: Opened, { angle, background }: Rotate): Promise<Sharp> {
  const diagonal = Math.ceil(Math.hypot(picture.width, picture.height))
  if (angle % 90 !== 0) within(diagonal, diagonal)
  const colour = await colourOf(background)
  return (await apart(picture)).rotate(angle, { background: colour })
}

interface Adjust {
  readonly brightness: number
  readonly saturation: number
  readonly hue: number
}

export const imageTasks: Tasks = {
  'image.resize': shapedMoving<Resize>(resized),
  'image.crop': shaped<Box>(cropped),
  'image.rotate': shaped<Rotate>(rotated),
  'image.flip': shaped<{ axis: 'horizontal' | 'vertical' }>(async (picture, { axis }) => {
    const image = await apart(picture)
    return axis === 'vertical' ? image.flip() : image.flop()
  }),
  'image.blur': shaped<{ radius: number }>(({ image }, { radius }) => image.blur(radius)),
  'image.sharpen': shaped<{ radius: number }>(({ image }, { radius }) => image.sharpen({ sigma: radius })),
  'image.grayscale': shaped(({ image }) => image.grayscale()),
  'image.adjust': shaped<Adjust>(({ image }, { brightness, saturation, hue }) =>
    image.modulate({ saturation, hue }).linear(brightness, 0),
  ),
  'image.convert': shapedMoving(({ image }) => image),
  ...edgeTasks,
  ...composeTasks,
  ...sheetTasks,
  ...factTasks,
}
