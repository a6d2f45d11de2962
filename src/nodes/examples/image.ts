// Examples of nodes for pictures. The output `image`, the picture itself, is left out.
import type { NodeExamples } from './node-example.ts'

export const imageExamples: NodeExamples = {
  'image.Adjust': {
    data: { image: '/api/assets/packages/pictures/photos/lake.jpg', brightness: 1.2, saturation: 0.5 },
    outputs: { width: 480, height: 320 },
  },
  'image.Blur': {
    data: { image: '/api/assets/packages/pictures/photos/night.jpg', radius: 5 },
    outputs: { width: 480, height: 320 },
  },
  'image.Composite': {
    data: {
      image: '/api/assets/packages/pictures/photos/lake.jpg',
      images: ['/api/assets/packages/pictures/logo.png'],
      places: [{ left: 20, top: 20 }],
      opacity: 0.5,
    },
    outputs: { width: 480, height: 320 },
  },
  'image.ContactSheet': {
    data: {
      images: [
        '/api/assets/packages/pictures/photos/dunes.jpg',
        '/api/assets/packages/pictures/photos/lake.jpg',
        '/api/assets/packages/pictures/photos/sunset.jpg',
      ],
      columns: 3,
      size: 120,
    },
    outputs: { width: 408, height: 162 },
  },
  'image.Convert': {
    data: { image: '/api/assets/packages/pictures/photos/meadow.jpg', format: 'webp', quality: 80 },
    outputs: { width: 480, height: 320 },
  },
  'image.Crop': {
    data: { image: '/api/assets/packages/pictures/photos/mountains.jpg', left: 40, top: 20, width: 200, height: 150 },
    outputs: { width: 200, height: 150 },
  },
  'image.DrawText': {
    data: {
      image: '/api/assets/packages/pictures/photos/sunset.jpg',
      text: 'Greetings from the coast',
      colour: '#ffffff',
      gravity: 'top',
    },
    outputs: { width: 480, height: 320 },
  },
  'image.Flip': {
    data: { image: '/api/assets/packages/pictures/photos/dunes.jpg', axis: 'vertical' },
    outputs: { width: 480, height: 320 },
  },
  'image.Grayscale': {
    data: { image: '/api/assets/packages/pictures/photos/meadow.jpg' },
    outputs: { width: 480, height: 320 },
  },
  'image.Histogram': {
    data: { image: '/api/assets/packages/pictures/logo.png' },
    outputs: { pixels: 9216 },
    note: 'Each other output has 256 numbers, one for each level.',
  },
  'image.Load': {
    data: { image: '/api/assets/packages/pictures/photos/lake.jpg' },
    outputs: { width: 480, height: 320, format: 'jpeg', name: 'lake.jpg' },
  },
  'image.Metadata': {
    data: { image: '/api/assets/packages/pictures/logo.png' },
    outputs: {
      metadata: {
        width: 96,
        height: 96,
        format: 'png',
        content_type: 'image/png',
        frames: 1,
        channels: 4,
        depth: 'uchar',
        colour_space: 'srgb',
        has_alpha: true,
        has_profile: false,
        density: 72,
        orientation: null,
        exif: {},
      },
    },
  },
  'image.Pad': {
    data: {
      image: '/api/assets/packages/pictures/logo.png',
      left: 10,
      right: 10,
      top: 10,
      bottom: 10,
      background: '#ffffff',
    },
    outputs: { width: 116, height: 116 },
  },
  'image.Resize': {
    data: { image: '/api/assets/packages/pictures/photos/night.jpg', width: 160 },
    outputs: { width: 160, height: 107 },
  },
  'image.Rotate': {
    data: { image: '/api/assets/packages/pictures/photos/dunes.jpg', angle: 90 },
    outputs: { width: 320, height: 480 },
  },
  'image.Save': {
    data: { image: '/api/assets/packages/pictures/photos/lake.jpg', name: 'lake.webp', format: 'webp' },
    outputs: { width: 480, height: 320 },
    note: '`asset` refers to the saved file.',
  },
  'image.Sharpen': {
    data: { image: '/api/assets/packages/pictures/photos/mountains.jpg', radius: 2 },
    outputs: { width: 480, height: 320 },
  },
  'image.Trim': {
    data: { image: '/api/assets/packages/pictures/photos/night.jpg', tolerance: 20 },
    outputs: { width: 480, height: 272 },
  },
}
