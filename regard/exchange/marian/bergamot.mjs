// Translates lines of standard input by Bergamot's engine, the one of Firefox Translations, in Node.
// node bergamot.mjs PACKAGE MODEL SHORTLIST|- GEMM VOCABULARY... < lines > JSON
// PACKAGE is the folder of @browsermt/bergamot-translator; GEMM is int8shiftAlphaAll, or int8shiftAll without alphas.
import {readFile} from 'node:fs/promises';
import {resolve} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {Worker as NodeWorker} from 'node:worker_threads';

const [folder, model, shortlist, gemm, ...vocabularies] = process.argv.slice(2);
const {BatchTranslator, TranslatorBacking} = await import(pathToFileURL(resolve(folder, 'translator.js')));

// The package's worker is CommonJS in a package of ES modules, which Node does not start by its name.
globalThis.Worker = class {
    constructor(url) {
        const file = JSON.stringify(fileURLToPath(url));
        this.worker = new NodeWorker(
            `const {readFileSync} = require('node:fs'), {dirname} = require('node:path');
            new Function('require', '__dirname', '__filename', readFileSync(${file}, 'utf-8'))(require, dirname(${file}), ${file});`,
            {eval: true});
    }

    addEventListener(name, callback) {
        this.worker.on(name, data => callback({data}));
    }

    postMessage(message) {
        this.worker.postMessage(message);
    }

    terminate() {
        this.worker.terminate();
    }
};

const buffer = async name => {
    const read = await readFile(name);
    return read.buffer.slice(read.byteOffset, read.byteOffset + read.byteLength);
};

class OneModel extends TranslatorBacking {
    async loadModelRegistery() {
        return [{from: 'xx', to: 'yy', files: {}}];
    }

    async loadTranslationModel() {
        return {
            model: await buffer(model),
            shortlist: shortlist === '-' ? new ArrayBuffer(0) : await buffer(shortlist),
            vocabs: await Promise.all(vocabularies.map(buffer)),
            qualityModel: null,
            config: {'gemm-precision': gemm},
        };
    }
}

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const lines = Buffer.concat(chunks).toString('utf-8').split('\n').slice(0, -1);
const options = {cacheSize: 0, workers: 1, batchSize: 64, pivotLanguage: null};
const translator = new BatchTranslator(options, new OneModel(options));
const translate = text => translator.translate({from: 'xx', to: 'yy', text, html: false});

const begin = performance.now();
await translate('.');
const loaded = performance.now();
const found = await Promise.all(lines.map(translate));
const seconds = (performance.now() - loaded) / 1000;
const answer = JSON.stringify({texts: found.map(one => one.target.text), start: (loaded - begin) / 1000, seconds});
await new Promise(done => process.stdout.write(answer, done));  // a pipe holds 64 KiB, and exit drops the rest
await translator.delete();
process.exit(0);
