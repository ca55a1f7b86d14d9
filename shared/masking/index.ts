export type { MaskStream } from './mask-stream.ts';
export { createMasker, type Masker, type MaskerOptions } from './masker.ts';
