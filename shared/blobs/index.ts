export { type BlobKey, type BlobStore, blobName, type StoredBlob } from './blob-store.ts';
