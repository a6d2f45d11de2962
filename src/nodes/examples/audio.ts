// Examples of nodes for sounds. The output `audio`, the sound itself, is left out.
import type { NodeExamples } from './node-example.ts'

export const audioExamples: NodeExamples = {
  'audio.Concat': {
    data: { audios: ['/api/assets/packages/sounds/melody.wav', '/api/assets/packages/sounds/melody.wav'], gap: 0.5 },
    outputs: { duration: 6.200544217687074 },
  },
  'audio.Convert': {
    data: { audio: '/api/assets/packages/sounds/melody.wav', rate: 8000, encoding: 'pcm8' },
    outputs: { duration: 2.85025 },
  },
  'audio.Fade': {
    data: { audio: '/api/assets/packages/sounds/melody.wav', fade_in: 0.2, fade_out: 1 },
    outputs: { duration: 2.8502494331065757 },
  },
  'audio.Gain': {
    data: { audio: '/api/assets/packages/sounds/melody.wav', decibels: -6 },
    outputs: { duration: 2.8502494331065757 },
  },
  'audio.Mix': {
    data: {
      audios: ['/api/assets/packages/sounds/melody.wav', '/api/assets/packages/sounds/melody.wav'],
      starts: [0, 1.5],
      gains: [0, -6],
    },
    outputs: { duration: 4.350294784580499 },
  },
  'audio.Normalize': {
    data: { audio: '/api/assets/packages/sounds/melody.wav', peak: -3 },
    outputs: { duration: 2.8502494331065757 },
  },
  'audio.Read': {
    data: { audio: '/api/assets/packages/sounds/melody.wav' },
    outputs: { duration: 2.8502494331065757, rate: 11025, channels: 1, bits: 16, encoding: 'pcm16' },
  },
  'audio.Slice': {
    data: { audio: '/api/assets/packages/sounds/melody.wav', from: 0.5, to: 2 },
    outputs: { duration: 1.499954648526077 },
  },
  'audio.Tone': { data: { frequency: 440, seconds: 0.5 }, outputs: { duration: 0.5 } },
  'audio.Waveform': {
    data: { audio: '/api/assets/packages/sounds/melody.wav', width: 3, height: 40 },
    outputs: {
      peaks: [
        [-0.527801513671875, 0.52874755859375],
        [-0.524169921875, 0.5234375],
        [-0.527801513671875, 0.52679443359375],
      ],
      duration: 2.8502494331065757,
    },
  },
}
