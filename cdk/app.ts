import { resolve } from 'node:path';
import { App } from 'aws-cdk-lib';
import { PlatformStage } from './platform-stage.ts';
import { STAGES } from './stage-config.ts';

const sourceRoot = resolve(import.meta.dirname, '..');
const app = new App();
for (const config of STAGES) new PlatformStage(app, { config, sourceRoot });
